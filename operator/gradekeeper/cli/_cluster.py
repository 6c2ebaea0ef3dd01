"""The commands that talk to a cluster: submit, wait, get, watch, export, cancel."""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeVar

import typer

from gradekeeper.cli import _options
from gradekeeper.cli._errors import CliError, ExitCode, plain, write_file
from gradekeeper.cli._sources import parse_parameters, read_source
from gradekeeper.cli._verify import headline, read_keys

if TYPE_CHECKING:
    from gradekeeper.client import GradingClient, JobHandle, JobRequest, Judgement

Result = TypeVar("Result")

_PATIENCE: Final = 6 * 3600.0
_RETRY_SECONDS: Final = 5.0
"""For a person at a terminal; a program waits longer."""


def register(app: typer.Typer) -> None:
    """Add the commands to the application."""
    for command in (submit, wait, get, watch, export, cancel):
        app.command(command.__name__)(command)


def submit(
    source: Annotated[
        str,
        typer.Argument(
            metavar="SOURCE",
            help="Directory, tar.gz file, or builtin:gold or builtin:null.",
        ),
    ],
    suite: Annotated[str, typer.Option("--suite", help="Name of the GradingSuite.")],
    task: Annotated[str, typer.Option(help="Task of the suite; default the whole suite.")] = "",
    nonce: Annotated[
        str | None,
        typer.Option(
            help="Nonce of this grading; the same one finds the same job. Default random."
        ),
    ] = None,
    group: Annotated[str, typer.Option(help="Free text that ties jobs together.")] = "",
    parameter: Annotated[
        list[str] | None,
        typer.Option("--parameter", "-p", metavar="NAME=VALUE", help="Value of a parameter."),
    ] = None,
    include: Annotated[
        list[str] | None,
        typer.Option(help="Pack only files that match, as in src/**/*.java; may be repeated."),
    ] = None,
    exclude: Annotated[
        list[str] | None, typer.Option(help="Leave files out that match; may be repeated.")
    ] = None,
    attempt_deadline: Annotated[
        int | None, typer.Option(help="Seconds for one attempt.", min=10)
    ] = None,
    retry_limit: Annotated[
        int | None, typer.Option(help="Further attempts if the platform fails.", min=0, max=10)
    ] = None,
    ttl: Annotated[
        int | None, typer.Option(help="Seconds after which the finished job is deleted.", min=0)
    ] = None,
    wait_for: Annotated[
        bool, typer.Option("--wait", help="Wait for the verdict and verify it; needs --key.")
    ] = False,
    out: Annotated[
        Path | None, typer.Option(help="With --wait: write the signed envelope to this file.")
    ] = None,
    key: _options.Keys = [],  # noqa: B006 - typer copies it
    patience: _options.Patience = _PATIENCE,
    delete: _options.Delete = False,
    namespace: _options.Namespace = None,
    context: _options.Context = None,
    kubeconfig: _options.Kubeconfig = None,
    as_json: _options.AsJson = False,
) -> None:
    """Submit a directory or an archive to be graded.

    Exit code with --wait: 0 a verified verdict (a 0 included), 3 Unjudged, 1 anything else.
    """
    from gradekeeper.client import JobRequest

    if out is not None and not wait_for:
        raise CliError("--out needs --wait: there is no verdict to write before.")
    if out is not None and not out.absolute().parent.is_dir():
        raise CliError(f"{out.parent} is not a directory; create it first.")
    keys = _keys_to_wait_with(key) if wait_for else []
    request = JobRequest(
        suite=suite,
        submission=read_source(source, include or [], exclude or []),
        nonce=nonce if nonce is not None else secrets.token_hex(32),
        task=task,
        group=group,
        parameters=parse_parameters(parameter or []),
        attempt_deadline=attempt_deadline,
        retry_limit=retry_limit,
        ttl=ttl,
    )

    async def main(client: GradingClient) -> Judgement | None:
        handle = await client.submit(request)
        if not as_json:
            _print_submitted(handle, request)
        elif not wait_for:
            print(json.dumps(_handle_document(handle), indent=2, sort_keys=True))
        if not wait_for:
            return None
        await _say_if_missing(client, handle, suite)
        return await client.wait(handle, patience=patience, keep=not delete)

    judgement = run_with_client(main, keys, namespace, context, kubeconfig)
    if judgement is not None:
        if out is not None:
            write_file(out, judgement.envelope)
        _print_judgement(judgement, as_json)


async def _say_if_missing(client: GradingClient, handle: JobHandle, suite: str) -> None:
    """Tell whoever waits that there is no such suite: it may be a typing error, or come later."""
    from gradekeeper.client import ForbiddenError, NotFoundError

    try:
        await client.read_suite(suite)
    except NotFoundError:
        typer.echo(
            f"There is no suite {plain(suite)} in {handle.namespace}; the job waits with"
            " SuiteNotReady until there is one. If the name or the namespace (-n) is wrong, take it"
            f" back: gradekeeper cancel {handle.name} -n {handle.namespace}",
            err=True,
        )
    except ForbiddenError:
        pass  # reading suites is no right that submitting needs


def wait(
    jobs: Annotated[list[str], typer.Argument(metavar="JOB…", help="Names of jobs.")],
    key: _options.Keys,
    out: Annotated[
        Path | None,
        typer.Option(help="Write the signed envelopes to this directory, as JOB.dsse.json."),
    ] = None,
    patience: _options.Patience = _PATIENCE,
    delete: _options.Delete = False,
    namespace: _options.Namespace = None,
    context: _options.Context = None,
    kubeconfig: _options.Kubeconfig = None,
    as_json: _options.AsJson = False,
) -> None:
    """Wait for jobs and verify their verdicts against what the jobs ask for.

    Exit code: 0 a verified verdict for each (a 0 included), 3 if one is Unjudged, 1 anything else.
    """
    from gradekeeper.client import GradekeeperError, UnjudgedError

    if out is not None and not out.is_dir():
        raise CliError(f"{out} is not a directory; create it first.")
    keys = _keys_to_wait_with(key)
    worst = ExitCode.OK

    async def one(client: GradingClient, name: str) -> None:
        nonlocal worst
        try:
            handle = await client.find(name)
            judgement = await client.wait(handle, patience=patience, keep=not delete)
        except UnjudgedError as error:
            _report(name, error)
            worst = worst or ExitCode.UNJUDGED
        except GradekeeperError as error:
            _report(name, error)
            worst = ExitCode.FAILED
        else:
            if out is not None:
                write_file(out / f"{name}.dsse.json", judgement.envelope)
            _print_judgement(judgement, as_json)

    async def main(client: GradingClient) -> None:
        await asyncio.gather(*(one(client, name) for name in dict.fromkeys(jobs)))

    run_with_client(main, keys, namespace, context, kubeconfig)
    raise typer.Exit(worst)


def get(
    job: Annotated[
        str | None, typer.Argument(metavar="[JOB]", help="One job, with each of its tests.")
    ] = None,
    key: _options.Keys = [],  # noqa: B006 - typer copies it
    namespace: _options.Namespace = None,
    context: _options.Context = None,
    kubeconfig: _options.Kubeconfig = None,
    as_json: _options.AsJson = False,
) -> None:
    """Show the jobs of a namespace, or one job and its tests.

    With --key the verdict of the one job is verified; else the table shows what its status says.
    """
    from gradekeeper.cli import _tables

    keys = read_keys(key)
    if job is None:
        jobs = run_with_client(_read_all, [], namespace, context, kubeconfig)
        if as_json:
            print(json.dumps({"items": jobs}, indent=2, sort_keys=True))
        else:
            _tables.print_jobs(jobs)
        return

    async def main(client: GradingClient) -> tuple[dict[str, Any], list[str] | None]:
        found = await client.read(job)
        if keys and (found.get("status") or {}).get("attestation"):
            verify_shown(await client.find(job), found, keys)
        return found, None if as_json else await test_ids(client, found)

    found, ids = run_with_client(main, keys, namespace, context, kubeconfig)
    if as_json:
        print(json.dumps(found, indent=2, sort_keys=True))
    else:
        _tables.print_job(found, ids, verified=bool(keys))


async def _read_all(client: GradingClient) -> list[dict[str, Any]]:
    """All jobs of the namespace, which an empty answer does not prove to exist."""
    jobs = await client.read_all()
    if not jobs and await client.has_namespace() is False:
        raise CliError(f"There is no namespace {plain(client.namespace)}.", ExitCode.FAILED)
    return jobs


def watch(
    jobs: Annotated[
        list[str] | None, typer.Argument(metavar="[JOB…]", help="Only these; default all.")
    ] = None,
    group: Annotated[str | None, typer.Option(help="Only jobs of this group.")] = None,
    expect: Annotated[
        int, typer.Option(min=0, help="Do not end before there are so many jobs.")
    ] = 1,
    timeout: Annotated[
        float | None, typer.Option(min=0.0, help="Seconds after which to give up; exit code 1.")
    ] = None,
    namespace: _options.Namespace = None,
    context: _options.Context = None,
    kubeconfig: _options.Kubeconfig = None,
) -> None:
    """Show a live table of jobs until all have a verdict.

    On a terminal the table is redrawn; else there is one line for each change and a table at the
    end. Nothing is verified here: see `wait` and `export`.
    """
    from gradekeeper.cli import _tables

    async def main(client: GradingClient) -> bool:
        with _tables.LiveJobs() as table:
            try:
                async with asyncio.timeout(timeout):
                    async for found in client.follow():
                        chosen = _chosen(found, jobs, group)
                        table.show(chosen)
                        enough = max(expect, len(jobs or ()))
                        if len(chosen) >= enough and all(map(_tables.is_finished, chosen)):
                            return True
            except TimeoutError:
                pass
        return False

    if not run_with_client(main, [], namespace, context, kubeconfig):
        raise CliError(f"Not every job finished within {timeout:g} seconds.", ExitCode.FAILED)


def export(
    out: Annotated[Path, typer.Option("--out", help="Directory to write to; must exist.")],
    jobs: Annotated[
        list[str] | None, typer.Argument(metavar="[JOB…]", help="Names of jobs; default all.")
    ] = None,
    namespace: _options.Namespace = None,
    context: _options.Context = None,
    kubeconfig: _options.Kubeconfig = None,
) -> None:
    """Write the signed envelopes of finished jobs as JOB.dsse.json, for `gradekeeper verify`."""
    from gradekeeper.verdicts.signing import SignatureInvalid, envelope_from_attestation

    if not out.is_dir():
        raise CliError(f"{out} is not a directory; create it first.")

    async def main(client: GradingClient) -> list[dict[str, Any]]:
        if jobs:
            return [await client.read(name) for name in jobs]
        return await _read_all(client)

    for job in run_with_client(main, [], namespace, context, kubeconfig):
        name = str(job["metadata"]["name"])
        attestation = (job.get("status") or {}).get("attestation")
        if attestation is None:
            if jobs:
                raise CliError(
                    f"The job {name} has no signed verdict yet; see `gradekeeper get {name}`.",
                    ExitCode.FAILED,
                )
            continue
        try:
            envelope = envelope_from_attestation(attestation)
        except SignatureInvalid as error:
            raise CliError(f"{name}: {error}", ExitCode.FAILED) from error
        path = out / f"{name}.dsse.json"
        write_file(path, envelope)
        print(path)


def cancel(
    jobs: Annotated[list[str], typer.Argument(metavar="JOB…", help="Names of jobs.")],
    namespace: _options.Namespace = None,
    context: _options.Context = None,
    kubeconfig: _options.Kubeconfig = None,
) -> None:
    """Stop jobs; they end Unjudged with the reason Cancelled. One with a verdict keeps it."""

    async def main(client: GradingClient) -> None:
        for name in jobs:
            verdict = ((await client.read(name)).get("status") or {}).get("verdict")
            if verdict:
                print(f"{plain(name)}: has its verdict already ({plain(verdict['decision'])})")
                continue
            await client.cancel(await client.find(name))
            print(f"{plain(name)}: asked to stop")

    run_with_client(main, [], namespace, context, kubeconfig)


def run_with_client(
    main: Callable[[GradingClient], Awaitable[Result]],
    keys: list[bytes],
    namespace: str | None,
    context: str | None,
    kubeconfig: str | None,
) -> Result:
    """Run against the cluster, turning the client's errors into one line.

    Raises:
        CliError: with the exit code for what went wrong.
    """
    from gradekeeper.client import (
        ConfigurationError,
        GradekeeperError,
        GradingClient,
        InvalidError,
        SubmissionError,
        UnjudgedError,
    )

    async def run() -> Result:
        async with GradingClient(
            public_keys=keys,
            namespace=namespace,
            context=context,
            kubeconfig=kubeconfig,
            retry_for=_RETRY_SECONDS,
        ) as client:
            return await main(client)

    try:
        return asyncio.run(run())
    except UnjudgedError as error:
        raise CliError(plain(error), ExitCode.UNJUDGED) from error
    except (ConfigurationError, SubmissionError, InvalidError) as error:
        raise CliError(plain(error), ExitCode.USAGE) from error
    except GradekeeperError as error:
        raise CliError(plain(error), ExitCode.FAILED) from error


def _keys_to_wait_with(paths: list[Path]) -> list[bytes]:
    if not paths:
        raise CliError(
            "Give the installation's public key with --key: a verdict is verified first."
        )
    return read_keys(paths)


def _chosen(
    found: Mapping[str, dict[str, Any]], names: list[str] | None, group: str | None
) -> list[dict[str, Any]]:
    return [
        job
        for name, job in sorted(found.items())
        if (not names or name in names) and (group is None or job["spec"].get("group") == group)
    ]


def verify_shown(handle: JobHandle, job: dict[str, Any], keys: list[bytes]) -> None:
    """Check the job's attestation, and that its status tells the same as what was signed.

    Raises:
        AttestationError: no trusted key signed this verdict.
    """
    from gradekeeper.client import AttestationError, verify_job
    from gradekeeper.verdicts.model import verdict_document

    judgement = verify_job(handle, job["status"]["attestation"], keys)
    signed = getattr(judgement, "verdict", None)
    shown = job["status"].get("verdict")
    same = (
        (shown or {}).get("decision") == "Unjudged"
        if signed is None
        else shown == verdict_document(signed)
    )
    if not same:
        raise AttestationError(
            f"The status of {handle} shows another verdict than was signed.", job=str(handle)
        )


async def test_ids(client: GradingClient, job: dict[str, Any]) -> list[str] | None:
    """The ids of a job's tests, from the suite's index; None if there is none that fits."""
    from gradekeeper.api.compressed import MAX_INDEX_BYTES, decompress_bytes
    from gradekeeper.client import NotFoundError
    from gradekeeper.referee.strictjson import parse_strict

    outcomes = ((job.get("status") or {}).get("verdict") or {}).get("outcomes")
    if outcomes is None:
        return None
    try:
        packed = await client.read_index(str(job["spec"]["suiteRef"]["name"]))
        data = await asyncio.to_thread(decompress_bytes, packed, most=MAX_INDEX_BYTES)
        index = await asyncio.to_thread(parse_strict, data, max_bytes=MAX_INDEX_BYTES)
        ids = [str(test) for test in index["tasks"][job["spec"].get("task") or ""]]
    except (NotFoundError, ValueError, KeyError, TypeError):
        return None
    return ids if len(ids) == len(outcomes) else None


def _report(name: str, error: Exception) -> None:
    typer.echo(f"{plain(name)}: {plain(error)}", err=True)


def _print_submitted(handle: JobHandle, request: JobRequest) -> None:
    print(f"job     {handle}{'  (existed already)' if handle.adopted else ''}")
    print(f"nonce   {plain(request.nonce)}")
    if handle.digest is not None:
        print(f"digest  {handle.digest}")


def _handle_document(handle: JobHandle) -> dict[str, Any]:
    return {
        "namespace": handle.namespace,
        "name": handle.name,
        "uid": handle.uid,
        "nonce": handle.spec.nonce,
        "digest": handle.digest,
        "adopted": handle.adopted,
    }


def _print_judgement(judgement: Judgement, as_json: bool) -> None:
    from gradekeeper.verdicts.model import verdict_document

    if as_json:
        document = {
            **_handle_document(judgement.handle),
            "verdict": verdict_document(judgement.verdict),
            "checked": list(judgement.checked),
            "unchecked": list(judgement.unchecked),
        }
        print(json.dumps(document, sort_keys=True))
        return
    print(f"{judgement.handle.name}: {plain(headline(judgement.verdict))}, signature verified")
