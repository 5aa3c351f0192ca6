//! The system calls that a confined program does not get. A deny list: the walls are the
//! namespaces and Landlock; this list closes what they leave open.

use std::collections::BTreeMap;
use std::io;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch, sock_filter,
};

use crate::grant::Network;
use crate::sandbox::plan::{Backend, Plan};
use crate::sandbox::spawn::StageError;

/// Refused whatever the arguments.
const DENIED: &[libc::c_long] = &[
    // Other processes.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    // Mounts and namespaces, old and new.
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_setns,
    libc::SYS_unshare,
    libc::SYS_open_tree,
    libc::SYS_move_mount,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    OPEN_TREE_ATTR,
    libc::SYS_open_by_handle_at,
    // Kernel surface that programs of this kind do not need.
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_fanotify_init,
    libc::SYS_lookup_dcookie,
    libc::SYS_vmsplice,
    // The machine.
    libc::SYS_kexec_load,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_iopl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ioperm,
    libc::SYS_kexec_file_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_quotactl_fd,
    libc::SYS_nfsservctl,
    libc::SYS_syslog,
    libc::SYS_vhangup,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_adjtimex,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
];

/// `open_tree_attr` (Linux 6.15), the same number on every architecture.
const OPEN_TREE_ATTR: libc::c_long = 467;

/// Families that reach the kernel or the hypervisor around the network namespace.
const FAMILIES: &[i32] = &[
    libc::AF_VSOCK,
    libc::AF_ALG,
    libc::AF_PACKET,
    libc::AF_BLUETOOTH,
    libc::AF_CAN,
    libc::AF_TIPC,
    libc::AF_RDS,
    libc::AF_NFC,
    KCM,
    libc::AF_XDP,
    libc::AF_KEY,
    libc::AF_PPPOX,
    libc::AF_AX25,
    libc::AF_NETROM,
    libc::AF_ROSE,
    libc::AF_X25,
    libc::AF_IB,
    SMC,
    QIPCRTR,
];

const KCM: i32 = 41;
const SMC: i32 = 43;
const QIPCRTR: i32 = 42;

/// Families of the internet, refused where no network namespace holds them.
const INTERNET: &[i32] = &[libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK];

/// How a process names itself.
const OWN_PROCESS: u64 = 0;

const NAMESPACES: &[i32] = &[
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWNS,
    libc::CLONE_NEWNET,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWCGROUP,
];

/// Loads the filters: the last step before `exec`.
pub(super) fn load(plan: &Plan) -> Result<(), StageError> {
    let arch = TargetArch::try_from(std::env::consts::ARCH).map_err(failed)?;
    let missing = SeccompFilter::new(
        BTreeMap::from([(libc::SYS_clone3, Vec::new())]),
        SeccompAction::Allow,
        // Its flags lie in memory that a filter cannot read; libraries fall back to `clone`.
        SeccompAction::Errno(libc::ENOSYS.unsigned_abs()),
        arch,
    )
    .map_err(failed)?;
    let denied = SeccompFilter::new(
        rules(plan).map_err(failed)?,
        SeccompAction::Allow,
        SeccompAction::Errno(libc::EPERM.unsigned_abs()),
        arch,
    )
    .map_err(failed)?;
    for filter in [missing, denied] {
        let program: BpfProgram = filter.try_into().map_err(failed)?;
        seccompiler::apply_filter(&program).map_err(failed)?;
    }
    let first_unknown = match plan.backend {
        Backend::LinuxL3 => UNKNOWN_TO_BIRDCAGE,
        _ => UNKNOWN,
    };
    seccompiler::apply_filter(&only_below(first_unknown)).map_err(failed)
}

fn failed(error: impl std::fmt::Display) -> StageError {
    StageError::os("seccomp", error, &io::Error::last_os_error())
}

fn rules(plan: &Plan) -> Result<BTreeMap<i64, Vec<SeccompRule>>, seccompiler::BackendError> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> =
        DENIED.iter().map(|number| (*number, Vec::new())).collect();
    let mut families: Vec<i32> = FAMILIES.to_vec();
    if plan.sockets.is_empty() {
        families.push(libc::AF_UNIX);
    }
    if !plan.backend.has_namespaces() && plan.network != Network::Whole {
        families.extend(INTERNET);
    }
    let one_of = |argument: u8, values: &[u64]| -> Result<Vec<SeccompRule>, _> {
        values
            .iter()
            .map(|value| rule(argument, SeccompCmpOp::Eq, *value))
            .collect()
    };
    let families: Vec<u64> = families
        .iter()
        .map(|f| u64::from(f.unsigned_abs()))
        .collect();
    let mut sockets = one_of(0, &families)?;
    sockets.push(other_netlink()?);
    rules.insert(libc::SYS_socket, sockets);
    if plan.sockets.is_empty() {
        rules.insert(libc::SYS_socketpair, unbound_pairs()?);
    }
    if !plan.backend.has_namespaces() {
        // Landlock keeps signals in, not limits: a processor time of 0 kills as well.
        rules.insert(
            libc::SYS_prlimit64,
            vec![rule(0, SeccompCmpOp::Ne, OWN_PROCESS)?],
        );
    }
    // The kernel reads 32 bits of the request: comparing 64 would let a high bit through
    // (CVE-2019-10063).
    let requests = [
        libc::TIOCSTI,
        libc::TIOCLINUX,
        libc::TIOCCONS,
        libc::TIOCSETD,
    ];
    let requests: Vec<u64> = requests.iter().map(|r| u64::from(*r as u32)).collect();
    rules.insert(libc::SYS_ioctl, one_of(1, &requests)?);
    let flags = NAMESPACES.iter().map(|flag| {
        let bit = u64::from(flag.cast_unsigned());
        rule(0, SeccompCmpOp::MaskedEq(bit), bit)
    });
    rules.insert(libc::SYS_clone, flags.collect::<Result<_, _>>()?);
    Ok(rules)
}

/// The kernel's own messages, but those about addresses and routes, which every runtime asks for.
fn other_netlink() -> Result<SeccompRule, seccompiler::BackendError> {
    let netlink = u64::from(libc::AF_NETLINK.unsigned_abs());
    let route = u64::from(libc::NETLINK_ROUTE.unsigned_abs());
    SeccompRule::new(vec![
        condition(0, SeccompCmpOp::Eq, netlink)?,
        condition(2, SeccompCmpOp::Ne, route)?,
    ])
}

/// One end of a pair of datagram sockets can send to any socket by its path, and be connected to it
/// anew. The end of a stream cannot.
fn unbound_pairs() -> Result<Vec<SeccompRule>, seccompiler::BackendError> {
    const KIND: u64 = 0xf;
    [libc::SOCK_DGRAM, libc::SOCK_RAW]
        .iter()
        .map(|kind| {
            rule(
                1,
                SeccompCmpOp::MaskedEq(KIND),
                u64::from(kind.unsigned_abs()),
            )
        })
        .collect()
}

fn rule(
    argument: u8,
    operator: SeccompCmpOp,
    value: u64,
) -> Result<SeccompRule, seccompiler::BackendError> {
    SeccompRule::new(vec![condition(argument, operator, value)?])
}

fn condition(
    argument: u8,
    operator: SeccompCmpOp,
    value: u64,
) -> Result<SeccompCondition, seccompiler::BackendError> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operator, value)
}

/// Newer calls than those that the list above was written against (Linux 6.18): what they do is not
/// known, so they are not there (CVE-2021-41133). The x32 numbers of x86-64 (bit 30), which pass the
/// check of the architecture but mean other calls, are larger still.
const UNKNOWN: u32 = 470;

/// Newer calls than birdcage's list, which refuses them with a code that says that they are there:
/// libraries then fail instead of using the older call. Of two refusals the later filter's counts.
const UNKNOWN_TO_BIRDCAGE: u32 = 450;

/// From this number on, calls do not exist.
fn only_below(first_unknown: u32) -> BpfProgram {
    let step = |code: u32, jt: u8, jf: u8, k: u32| sock_filter {
        code: u16::try_from(code).unwrap_or(0),
        jt,
        jf,
        k,
    };
    vec![
        step(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, 0),
        step(
            libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K,
            0,
            1,
            first_unknown,
        ),
        step(
            libc::BPF_RET | libc::BPF_K,
            0,
            0,
            libc::SECCOMP_RET_ERRNO | libc::ENOSYS.unsigned_abs(),
        ),
        step(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ALLOW),
    ]
}
