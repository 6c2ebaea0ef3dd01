"""How a build ends that gives no classes: one fixed sentence each, true whenever it is said.

No word of a lane is in them, so that they may stand in a signed verdict: the operator takes a
referee's message over only if it is one of `BUILD_ENDS`. What the compiler itself said is in the
detail log.
"""

from typing import Final

ERRORS: Final = "The compiler refused the submission's sources."
NO_SOURCES: Final = "The submission has no file that the suite's patterns take."
TIME: Final = "The submission did not compile in time."
MEMORY: Final = "The compiler used up the memory that the suite gives it."
MAX_CLASSES: Final = 4_000
TOO_MANY: Final = f"The submission compiles to more than {MAX_CLASSES} class files."
MAX_CLASS_MIB: Final = 16
TOO_LARGE: Final = f"The submission compiles to more than {MAX_CLASS_MIB} MiB of class files."
MAX_FOLDERS: Final = 4_000
TOO_MANY_FOLDERS: Final = f"The submission's packages make more than {MAX_FOLDERS} folders."
MAX_NAME: Final = 255
NAME_TOO_LONG: Final = (
    f"The name of a class or package makes a file name of more than {MAX_NAME} bytes."
)
MAX_PATH: Final = 3_840
MAX_DEPTH: Final = 512
PATH_TOO_LONG: Final = (
    f"A class is in packages whose path has more than {MAX_PATH} bytes or {MAX_DEPTH} folders."
)
RESERVED_PACKAGE: Final = "The submission has a class in a package that belongs to the suite."
KILLED: Final = "The compiler was ended by a signal before it gave a result."
NO_RESULT: Final = "The compiler gave no result."

BUILD_ENDS: Final = frozenset(
    {
        ERRORS,
        NO_SOURCES,
        TIME,
        MEMORY,
        TOO_MANY,
        TOO_LARGE,
        TOO_MANY_FOLDERS,
        NAME_TOO_LONG,
        PATH_TOO_LONG,
        RESERVED_PACKAGE,
        KILLED,
        NO_RESULT,
    }
)
