/* Where the processes of a lane may write, whatever else is mounted; lanes/README.md says why. */
#ifndef GRADEKEEPER_WRITES_H
#define GRADEKEEPER_WRITES_H

#include <stdbool.h>

/* Prepares the rules once: writing only below the folder `scratch` (a descriptor) and to the devices
 * that keep nothing. True also where the kernel has no such rules. */
bool build_writes(int scratch);

/* Puts the calling process under them, for good. It needs no_new_privs. False: see errno. */
bool limit_writes(void);

#endif
