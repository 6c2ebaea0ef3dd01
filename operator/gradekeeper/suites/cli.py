"""`gradekeeper suite …`: the author's commands, thin adapters around this package."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
import yaml
from pydantic import ValidationError
from rich.console import Console
from rich.table import Table

from gradekeeper.referee.local import LocalError, LocalLane, find_lanes
from gradekeeper.suites.bundle import build_bundle, digest_of, load_bundle
from gradekeeper.suites.check import DEFAULT_LOADED, CheckReport, check
from gradekeeper.suites.definition import explain
from gradekeeper.suites.errors import SuiteError
from gradekeeper.suites.image import build_image, write_context
from gradekeeper.suites.manifest import build_index_config_map, build_suite_manifest
from gradekeeper.suites.pin import pin
from gradekeeper.suites.sign import sign_suite
from gradekeeper.suites.trees import build_submission
from gradekeeper.verdicts.signing import KeyInvalid, SigningKey

app = typer.Typer(name="suite", no_args_is_help=True, rich_markup_mode=None)

Folder = Annotated[Path, typer.Argument(help="The suite folder.", metavar="DIR")]
BundlePath = Annotated[Path, typer.Argument(help="A built bundle.", metavar="BUNDLE")]
Image = Annotated[str, typer.Option(help="The suite image, as name@sha256:….")]
LaneImage = Annotated[str, typer.Option(help="The lane image, as name@sha256:….")]


class CommandFailed(Exception):
    """A command's error, in the form that the command line reports in one line."""

    exit_code = 1

    def format_message(self) -> str:
        """The sentence to print."""
        return str(self)


@app.callback()
def _suite() -> None:
    """Write, check, sign and install suites of hidden tests."""


@app.command("pin")
def pin_command(
    folder: Folder,
    draws: Annotated[int, typer.Option(min=1, max=64, help="Inputs to pin a test.")] = 8,
    rounds: Annotated[int, typer.Option(min=1, max=20, help="Runs that must agree.")] = 3,
) -> None:
    """Run gold and write its behaviour down as the suite's expectations."""
    with _reported(), _progress("pinning") as progress:
        report = pin(
            folder,
            lane=LocalLane.from_environment(),
            draws=draws,
            rounds=rounds,
            progress=progress,
        )
    console = Console()
    console.print(f"{report.tests} tests, {report.draws} draws; review the difference in git")
    for test_id, count in report.redrawn.items():
        console.print(f"{test_id}: {count} draws proved nothing and were drawn again")
    for path in report.files:
        console.print(str(path), soft_wrap=True)


@app.command("check")
def check_command(
    folder: Folder,
    gold: Annotated[
        int | None, typer.Option(min=0, help="Gradings of gold; default: one a pinned draw.")
    ] = None,
    loaded: Annotated[
        int, typer.Option(min=0, help="Gradings of gold while all processors are busy.")
    ] = DEFAULT_LOADED,
    every_draw: Annotated[
        bool,
        typer.Option("--every-draw", help="Run defects and scenarios with every pinned draw."),
    ] = False,
    only: Annotated[
        list[str] | None,
        typer.Option(help="Only this line of the report, such as 'only-*'; may be repeated."),
    ] = None,
) -> None:
    """Prove that gold passes, and that whatever is not gold fails exactly where it must.

    A thorough check: --gold 50 --loaded 10 --every-draw.
    """
    with _reported(), _progress("checking") as progress:
        report = check(
            folder,
            lane=LocalLane.from_environment(),
            gold=gold,
            loaded=loaded,
            every_draw=every_draw,
            only=only or (),
            progress=progress,
        )
    _print_report(report, folder)
    if not report.ok:
        raise typer.Exit(1)


@app.command("build")
def build_command(
    folder: Folder,
    out: Annotated[Path, typer.Option(help="Where to write the bundle.")],
    kit: Annotated[
        Path | None, typer.Option(help="The lane kit; default: as for `grade --local`.")
    ] = None,
) -> None:
    """Compile drivers and write the bundle that goes into the suite's image."""
    with _reported():
        bundle = build_bundle(folder, out, kit=kit or _kit())
    Console().print(bundle.digest)


@app.command("submission")
def submission_command(
    folder: Folder,
    name: Annotated[str, typer.Argument(help="A submission of the suite.", metavar="NAME")],
    out: Annotated[Path, typer.Option(help="The tar.gz to write.")],
) -> None:
    """Write one of the suite's submissions as the archive that a client would send."""
    with _reported():
        archive = build_submission(folder, name)
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_bytes(archive)
    Console().print(digest_of(archive))


@app.command("sign")
def sign_command(
    bundle: BundlePath,
    key: Annotated[Path, typer.Option(help="The author's private key, PEM.")],
    image: Image,
    lane_image: LaneImage,
    out: Annotated[Path, typer.Option(help="The DSSE envelope to write.")],
) -> None:
    """Sign bundle, images, index, limits and resources as the suite's author."""
    with _reported():
        envelope = sign_suite(
            load_bundle(bundle),
            image_digest=_digest(image),
            lane_image_digest=_digest(lane_image),
            key=SigningKey.from_pem(key.read_bytes()),
        )
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_bytes(envelope)


@app.command("image")
def image_command(
    bundle: BundlePath,
    referee: Annotated[str, typer.Option(help="The referee's image.")] = "",
    tag: Annotated[str, typer.Option(help="Name of the new image.")] = "",
    push: Annotated[bool, typer.Option("--push", help="Push it to its registry.")] = False,
    context: Annotated[
        Path | None, typer.Option(help="Only write the build context, to this folder.")
    ] = None,
) -> None:
    """Build the suite's image with buildah or docker, or write what builds it."""
    with _reported():
        if context is not None:
            said = str(write_context(bundle, context))
        elif referee and tag:
            said = build_image(bundle, referee=referee, tag=tag, push=push)
        else:
            raise CommandFailed("give --referee and --tag, or --context")
    Console().print(said, soft_wrap=True)


@app.command("manifest")
def manifest_command(
    bundle: BundlePath,
    image: Image,
    lane_image: LaneImage,
    signature: Annotated[Path, typer.Option(help="The envelope that `suite sign` wrote.")],
    namespace: Annotated[str, typer.Option(help="Where the suite's jobs run.")],
    out: Annotated[Path | None, typer.Option(help="A file; default: standard output.")] = None,
    runtime_class: Annotated[str | None, typer.Option(help="Of grading Pods.")] = None,
) -> None:
    """Write the GradingSuite and its index as YAML for kubectl."""
    with _reported():
        loaded = load_bundle(bundle)
        text = yaml.safe_dump_all(
            [
                build_index_config_map(loaded, namespace=namespace),
                build_suite_manifest(
                    loaded,
                    image=image,
                    lane_image=lane_image,
                    envelope=signature.read_bytes(),
                    namespace=namespace,
                    runtime_class_name=runtime_class,
                ),
            ],
            sort_keys=False,
        )
        if out is not None:
            out.parent.mkdir(parents=True, exist_ok=True)
            out.write_text(text, encoding="utf-8")
    if out is None:
        typer.echo(text, nl=False)


def _print_report(report: CheckReport, folder: Path) -> None:
    console = Console()
    table = Table(title=f"{report.tests} tests, {report.digest[:19]}…", title_justify="left")
    for column in ("submission", "draw", "passed", "as expected", "seconds"):
        table.add_column(column, justify="left" if column == "submission" else "right")
    for line in report.lines:
        table.add_row(
            line.name + (" under load" if line.loaded else ""),
            "" if line.draw is None else str(line.draw),
            "" if line.passed is None else str(line.passed),
            "no" if line.problems else "yes",
            f"{line.seconds:.1f}",
        )
    console.print(table)
    for played in report.played:
        console.print(str(played), soft_wrap=True, markup=False, highlight=False)
    # A driver that is wrong is so in every draw: that is one problem, not eight.
    told: dict[tuple[str, str], list[str]] = {}
    for line in report.lines:
        for problem in line.problems:
            draws = told.setdefault((line.name, problem), [])
            draws += [] if line.draw is None else [str(line.draw)]
    for (name, problem), draws in told.items():
        where = f" (draw{'s' * (len(draws) > 1)} {', '.join(draws)})" if draws else ""
        console.print(f"{name}{where}: {problem}", soft_wrap=True, markup=False)
    console.print(_conclusion(report, folder), soft_wrap=True, markup=False, highlight=False)


def _conclusion(report: CheckReport, folder: Path) -> str:
    """How many checks held, which did not, and where to look then."""
    count = len(report.lines)
    missed = [line for line in report.lines if line.problems]
    if not missed:
        return f"all {count} checks held" if count != 1 else "the check held"
    names = list(dict.fromkeys(line.name for line in missed))
    only = " ".join(f"--only {name}" for name in names)
    return (
        f"{count - len(missed)} of {count} checks held, {', '.join(names)} did not: see above, what"
        f" is expected in {folder / 'submissions'}, and `gradekeeper suite check {folder} {only}`"
    )


@contextmanager
def _progress(what: str) -> Iterator[Callable[[str], None]]:
    """Tell on standard error what is going on: a spinner on a terminal, lines elsewhere."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda text: console.print(f"{what}: {text}", soft_wrap=True, markup=False)
        return
    with console.status(what) as status:
        yield lambda text: status.update(f"{what}: {text}")


@contextmanager
def _reported() -> Iterator[None]:
    try:
        yield
    except (SuiteError, LocalError, KeyInvalid) as error:
        raise CommandFailed(str(error)) from error
    except ValidationError as error:
        raise CommandFailed(explain(Path("the suite"), error)) from error
    except OSError as error:
        raise CommandFailed(f"{error.filename}: {error.strerror}") from error


def _kit() -> Path:
    kit = find_lanes() / "kit.jar"
    if not kit.is_file():
        raise CommandFailed(
            f"{kit} does not exist: run `make lanes`, give --kit, or set GRADEKEEPER_LANES to a"
            " folder with kit.jar"
        )
    return kit


def _digest(image: str) -> str:
    _, at, digest = image.rpartition("@")
    if not at or not digest.startswith("sha256:"):
        raise CommandFailed(f"{image!r} does not name an image by digest, as name@sha256:… does")
    return digest
