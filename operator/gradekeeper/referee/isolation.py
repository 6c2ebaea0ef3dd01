"""Isolation: what must hold before a submission is released, as data, and how it is observed.

Two witnesses. laneprobe, an order in the lane, describes the box from inside. The referee looks at
its own container, which tells what the Pod's containers share, and tries a port that the operator
serves. Any difference from the expected facts is `IsolationNotEnforced`. The facts go into the
result as they were observed.
"""

import errno
import os
import socket
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from gradekeeper.referee.strictjson import StrictJsonError, parse_strict

MAX_PROBE_BYTES: Final = 32 * 1024
CONNECT_SECONDS: Final = 0.25
"""How long one connection may stay unanswered before it counts as dropped."""
DENIALS_NEEDED: Final = 2
"""A kernel answers within a millisecond: two silent attempts in a row are a policy."""

IDENTITY_MAP: Final = "0 0 4294967295"
"""The uid map of a process without a user namespace of its own."""
MACHINE_IPC: Final = "ipc:[4026531839]"
"""The machine's own IPC namespace, which has this number under every kernel."""

_DENIED_CALLS: Final[Mapping[str, str]] = {
    "EPERM": """
        socket_inet socket_inet6 socket_inet_udp socket_netlink socket_packet socket_vsock
        socket_alg socketpair_inet setsockopt_filter setsockopt_bpf prlimit64_other
        prlimit64_core setrlimit_core mmap_hugetlb mmap_locked clone_newuser clone_newns
        clone_newuts clone_newipc clone_newpid clone_newnet clone_newcgroup get_robust_list kcmp
        migrate_pages move_pages pidfd_getfd process_madvise process_mrelease process_vm_readv
        process_vm_writev ptrace add_key keyctl memfd_create memfd_secret mq_getsetattr
        mq_notify mq_open mq_timedreceive mq_timedsend mq_unlink msgctl msgget msgrcv msgsnd
        request_key semctl semget semop semtimedop shmat shmctl shmdt shmget fanotify_init
        fanotify_mark inotify_add_watch inotify_init1 inotify_rm_watch io_cancel io_destroy
        io_getevents io_pgetevents io_setup io_submit landlock_add_rule landlock_create_ruleset
        landlock_restrict_self mlock mlock2 mlockall munlock munlockall seccomp io_uring_enter
        io_uring_register io_uring_setup ioprio_get ioprio_set mbind readahead recvmmsg
        rt_sigqueueinfo rt_tgsigqueueinfo sched_setaffinity sched_setattr sched_setparam
        sched_setscheduler sendmmsg sendmsg set_mempolicy setpriority signalfd4 splice tee
        timer_create timer_delete timer_getoverrun timer_gettime timer_settime vmsplice chroot
        fsconfig fsmount fsopen fspick mount mount_setattr move_mount name_to_handle_at
        open_by_handle_at open_tree pivot_root setns umount2 unshare capset personality setfsgid
        setfsuid setgid setgroups setregid setresgid setresuid setreuid setuid acct adjtimex
        clock_adjtime clock_settime delete_module finit_module init_module kexec_file_load
        kexec_load quotactl quotactl_fd reboot setdomainname sethostname settimeofday swapoff
        swapon syslog vhangup bpf lookup_dcookie perf_event_open pkey_alloc pkey_free
        pkey_mprotect remap_file_pages userfaultfd
    """,
    "EINVAL": """
        fcntl_lease fcntl_notify fcntl_signal fcntl_owner fcntl_pipe_size madvise_mergeable
        madvise_hugepage madvise_collapse madvise_remove fadvise_dontneed prctl_seccomp
        prctl_dumpable prctl_subreaper prctl_core_scheduling prctl_merge prctl_name_mapping
        prctl_speculation
        membarrier_global membarrier_expedited
    """,
    "ENOTTY": "ioctl_interfaces ioctl_async",
    "ENOSYS": """
        futex_lend futex_lend_shared clone3 futex_waitv openat2 set_mempolicy_home_node newer
    """,
    "EOPNOTSUPP": "setxattr lsetxattr fsetxattr removexattr lremovexattr fremovexattr",
    "NOTHING": "fcntl_lock fcntl_lock_wait fdatasync fsync msync sync_file_range syncfs",
}
DENIED: Final[Mapping[str, str]] = {
    call: code for code, calls in _DENIED_CALLS.items() for call in calls.split()
}
"""Call -> what it answers in a lane. `NOTHING`: success, without its work. `newer`: every number
that a kernel gave out after those that laned decides one by one."""
X86_CALLS: Final = tuple(
    """
        inotify_init ioperm iopl get_thread_area set_thread_area modify_ldt signalfd sysfs
        uselib ustat
    """.split()
)
"""Calls that answer EPERM; only an x86 machine has them."""
FOREIGN: Final = ("i386", "x32")
"""Foreign system call entries, which kill; only an x86 machine has them."""
DEVICES: Final = tuple(
    f"/dev/{name}" for name in ("full", "null", "random", "tty", "urandom", "zero")
)
"""Exactly the devices of a lane. None of them makes the kernel work in threads of its own."""
NO_TERMINALS: Final[Mapping[str, str]] = {"ptmx": "ENOENT", "pts_ptmx": "ENOENT", "tty": "ENXIO"}
"""Fact -> what opening answers where there are no pseudo-terminals and is no terminal."""
CORE_LIMIT: Final = (1, 1)
"""Soft and hard: the one value at which a crash starts no core handler of the node."""
CLOSED: Final = ("proc1_environ", "proc1_mem", "proc1_maps", "proc1_fd", "proc1_oom")
"""laned's own files below /proc/1, which its children may not open."""


@dataclass(frozen=True, slots=True)
class Profile:
    """What the lane must look like.

    Attributes:
        name: "pod", or "local" for the local engine, which cannot hide a machine's own devices.
        uid: of a lane child.
        user_namespace: whether one is required.
        writable: exactly the places that a lane child can write.
        runtime_filter: whether laned itself must be under a filter of the container runtime. A
            lane child always has laned's, so its own mode tells nothing about the runtime's.
    """

    name: str
    uid: int
    user_namespace: bool
    writable: Sequence[str]
    runtime_filter: bool


WRITABLE: Final = ("/scratch",)
_NAMED_PLACES: Final = frozenset(
    {"/", "/dev", "/dev/mqueue", "/dev/pts", "/dev/shm"}  # noqa: S108
    | {"/dev/termination-log", "/lane", "/tmp"}  # noqa: S108
)
"""Places that a message may name; other names would be text of the lane."""
_SHOWN: Final = 3
"""How many differences a message names."""


def profile(*, local: bool, uid: int, user_namespace: bool) -> Profile:
    """The profile of a grading Pod or of the local engine."""
    return Profile("local" if local else "pod", uid, user_namespace or local, WRITABLE, not local)


@dataclass(frozen=True, slots=True)
class Own:
    """What the referee sees of its own container.

    Attributes:
        pid: its process id.
        uid: its user id.
        ipc: its IPC namespace, which is the Pod's.
    """

    pid: int
    uid: int
    ipc: str


def look_around() -> Own:
    """Observe the referee's own container.

    Raises:
        OSError: there is no /proc.
    """
    return Own(os.getpid(), os.getuid(), os.readlink("/proc/self/ns/ipc"))


def own_differences(own: Own, lane_uid: int) -> list[str]:
    """Compare what the referee sees of its own container with what must hold in a Pod.

    The numbers of namespaces tell the machine's own ones from others, so in a node that is itself
    a container a shared IPC namespace goes unnoticed here; the filter denies all such calls.

    Returns:
        Short texts of ours, empty if nothing is shared that may not be.
    """
    found = []
    if own.pid != 1:
        # With its own process namespace the referee is the first process of its container. The
        # lane cannot say this: laned refuses to start where it would not be the first one.
        found.append("its process namespace is shared")
    if own.uid == lane_uid:
        found.append("it has the referee's uid")
    if own.ipc == MACHINE_IPC:
        found.append("the IPC namespace is the machine's")
    return found


def differences(facts: Mapping[str, Any], expected: Profile) -> list[str]:
    """Compare what laneprobe saw with what must hold.

    Returns:
        Short texts of ours, empty if the lane is isolated. A fact that is missing differs.
    """
    wanted: dict[str, Any] = {
        "uid": expected.uid,
        "gid": expected.uid,
        "cap_eff": "0",
        "cap_prm": "0",
        "cap_bnd": "0",
        "cap_amb": "0",
        "no_new_privs": 1,
        "seccomp": 2,
        "root_readonly": True,
        "token": False,
    }
    found = [name for name, value in wanted.items() if not _same(facts.get(name), value)]
    groups = facts.get("groups")
    if type(groups) is not list or any(group != expected.uid for group in groups):
        found.append("groups")
    if facts.get("proc1_no_new_privs") != 1:
        found.append("privilege escalation is allowed")
    if expected.runtime_filter and facts.get("proc1_seccomp") != 2:
        found.append("the runtime has no seccomp filter")
    if expected.user_namespace and facts.get("uid_map") in (None, IDENTITY_MAP):
        found.append("no user namespace")
    if facts.get("pids_visible") != [1, facts.get("pid")]:
        found.append("other processes are visible")
    writable = facts.get("writable")
    if type(writable) is not list or facts.get("writable_incomplete"):
        found.append("writable places are unknown")
    else:
        extra = [place for place in writable if place not in expected.writable]
        found += [
            f"{place} is writable" if place in _NAMED_PLACES else "another place is writable"
            for place in extra
            if type(place) is str
        ] or ["another place is writable"] * bool(extra)
        found += [
            f"{place} is not writable" for place in expected.writable if place not in writable
        ]
    if facts.get("devices") != list(DEVICES):
        found.append("its devices are others")
    found += [
        f"{name} can be opened"
        for name, answer in NO_TERMINALS.items()
        if facts.get(name) != answer
    ]
    if facts.get("pressure") not in ("EACCES", "EPERM", "ENOENT", "EOPNOTSUPP"):
        # By writing to it, Linux 6.5 and later let anybody hold up the whole node's bookkeeping.
        found.append("the node's pressure files can be written")
    if _starts_core_handler(facts):
        found.append("a crash reaches the node's core handler")
    denied = facts.get("denied")
    denied = denied if type(denied) is dict else {}
    expected_calls = dict(DENIED)
    if os.uname().machine == "x86_64":
        expected_calls |= dict.fromkeys(X86_CALLS, "EPERM") | dict.fromkeys(FOREIGN, "KILLED")
    found += [
        f"{call} is not denied" for call, code in expected_calls.items() if denied.get(call) != code
    ]
    found += [
        f"{name} can be opened" for name in CLOSED if facts.get(name) not in ("EACCES", "EPERM")
    ]
    return found


def sentence(found: Sequence[str]) -> str:
    """One sentence that names the first differences."""
    more = f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
    return f"The lane is not isolated: {', '.join(found[:_SHOWN])}{more}."


def _starts_core_handler(facts: Mapping[str, Any]) -> bool:
    """Whether a crash in the lane can start, or connect to, a core handler of the node.

    A program is not started at the limit of 1. Since Linux 6.16 a handler may also listen at a
    socket, for which no limit counts.
    """
    limit = facts.get("core_limit")
    limited = limit == list(CORE_LIMIT) and all(type(value) is int for value in limit)
    return not limited or facts.get("core_handler") not in ("file", "program")


def _same(observed: Any, wanted: Any) -> bool:
    return type(observed) is type(wanted) and bool(observed == wanted)


def summary(
    facts: Mapping[str, Any], expected: Profile, network: "NetworkProbe | None"
) -> dict[str, Any]:
    """The facts that go into the result, bounded in size and free of text from the lane."""
    denied = facts.get("denied")
    found: dict[str, Any] = {
        "profile": expected.name,
        "uid": _number(facts.get("uid")),
        "userNamespace": facts.get("uid_map") not in (None, IDENTITY_MAP),
        "noNewPrivileges": _same(facts.get("no_new_privs"), 1),
        "seccomp": _same(facts.get("seccomp"), 2),
        "capabilities": facts.get("cap_eff") != "0" or facts.get("cap_bnd") != "0",
        "rootReadonly": facts.get("root_readonly") is True,
        "token": facts.get("token") is not False,
        "terminals": any(facts.get(name) != answer for name, answer in NO_TERMINALS.items()),
        "coreHandler": _starts_core_handler(facts),
        "deniedCalls": len(denied) if type(denied) is dict else 0,
        "network": "not probed",
        "probedAt": round(time.time(), 1),
    }
    if network is not None:
        found.update(network.facts)
    return found


def unisolated() -> dict[str, Any]:
    """The facts of a lane that nothing isolates: none was observed, and that is what they say."""
    return {
        "profile": "none",
        "userNamespace": False,
        "network": "not probed",
        "probedAt": round(time.time(), 1),
    }


def _number(value: Any) -> int | None:
    return value if type(value) is int else None


def read_probe(output: bytes) -> dict[str, Any] | None:
    """Parse what laneprobe printed; None if it is not one JSON object."""
    try:
        facts = parse_strict(output, max_bytes=MAX_PROBE_BYTES)
    except StrictJsonError:
        return None
    return facts if type(facts) is dict else None


class NetworkProbe:
    """Tries to reach the operator's port without blocking, until it is denied.

    `step` is called again and again, with pauses of any length. An attempt ends at the first step
    after `CONNECT_SECONDS`, and two that are denied, or one that is not, decide.
    """

    def __init__(self, address: str, port: int, deadline: float) -> None:
        self._target = (address, port)
        self._deadline = deadline
        self._family = socket.AF_INET6 if ":" in address else socket.AF_INET
        self._socket: socket.socket | None = None
        self._opened = 0.0
        self._until = 0.0
        self._denials = 0
        self.facts: dict[str, Any] = {}
        self.denied: bool | None = None
        """None while undecided; False only by a connection that was begun after the deadline: how
        long an archive takes to unpack, and so when this is stepped, is a submission's to say."""

    def step(self, now: float) -> float:
        """Advance as far as possible.

        Returns:
            Seconds after which to call again at the latest.
        """
        if self.denied is not None:
            return 3600.0
        if self._socket is None:
            self._open(now)
        else:
            self._look(now)
        return 0.02

    def _open(self, now: float) -> None:
        if now < self._until:
            return
        self._socket = socket.socket(self._family, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
        self._opened = now
        self._until = now + CONNECT_SECONDS
        code = self._socket.connect_ex(self._target)
        if code != errno.EINPROGRESS:
            self._answered(code, now)

    def _look(self, now: float) -> None:
        assert self._socket is not None
        code = self._socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if code:
            self._answered(code, now)
            return
        try:
            self._socket.getpeername()
        except OSError:
            if now >= self._until:
                self._answered(errno.ETIMEDOUT, now)
            return
        self._answered(0, now)

    def _answered(self, code: int, now: float) -> None:
        assert self._socket is not None
        self._socket.close()
        self._socket = None
        if code == 0:
            # No policy is in force, or not yet: a Pod can run before its rules are written.
            self._denials = 0
            self._until = now + 0.1
            if self._opened >= self._deadline:
                self._end(False, "connected")
            return
        self._denials += 1
        self._until = now
        if self._denials >= DENIALS_NEEDED:
            self._end(True, errno.errorcode.get(code, str(code)))

    def _end(self, denied: bool, how: str) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None
        self.denied = denied
        self.facts = {
            "network": "denied" if denied else "reachable",
            "networkAnswer": how,
            "probedAt": round(time.time(), 1),
        }
