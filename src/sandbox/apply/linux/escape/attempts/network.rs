//! Leaving by the network.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::time::Duration;

use rustix::io::Errno;

use super::super::ground::Ground;
use super::super::raw;
use super::{Attempts, Told, Try, skip, stopped};
use crate::sandbox::plan::Backend;

const WAIT: Duration = Duration::from_millis(500);

/// A documentation address: nothing answers there, and a machine with a route tries.
const AWAY: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);

pub(super) const ATTEMPTS: Attempts = &[
    ("tcp-host", |g| {
        connect((Ipv4Addr::LOCALHOST, g.ports.tcp).into())
    }),
    ("tcp-host-any", |g| {
        connect((Ipv4Addr::UNSPECIFIED, g.ports.tcp).into())
    }),
    ("tcp6-host", |g| match g.ports.tcp6 {
        Some(port) => connect((Ipv6Addr::LOCALHOST, port).into()),
        None => Err(skip("this machine has no IPv6 loopback")),
    }),
    ("tcp-mapped-host", |g| {
        connect((Ipv4Addr::LOCALHOST.to_ipv6_mapped(), g.ports.tcp).into())
    }),
    ("tcp-out", |_| connect((AWAY, 80).into())),
    ("tcp-metadata", |_| {
        connect((Ipv4Addr::new(169, 254, 169, 254), 80).into())
    }),
    ("mptcp-host", |_| {
        socket_out(libc::AF_INET, libc::SOCK_STREAM, 262)
    }),
    ("sctp", |_| {
        socket_out(libc::AF_INET, libc::SOCK_STREAM, 132)
    }),
    ("udp-host", |g| {
        let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
        socket.send_to(b"x", (Ipv4Addr::LOCALHOST, g.ports.udp))?;
        Err(Told::Sent)
    }),
    ("udp-out", |_| udp_out((AWAY, 53).into())),
    ("udp-multicast", |_| {
        udp_out((Ipv4Addr::new(224, 0, 0, 251), 5353).into())
    }),
    ("udp-broadcast", |_| {
        let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
        socket.set_broadcast(true)?;
        socket.send_to(b"x", (Ipv4Addr::BROADCAST, 9)).map(drop)?;
        Ok(())
    }),
    ("dns", |_| dns()),
    ("icmp", |_| socket_out(libc::AF_INET, libc::SOCK_DGRAM, 1)),
    ("raw-ip", |_| family(libc::AF_INET, libc::SOCK_RAW, 255)),
    ("raw-ip6", |_| family(libc::AF_INET6, libc::SOCK_RAW, 255)),
    ("packet", |_| family(libc::AF_PACKET, libc::SOCK_RAW, 0)),
    ("vsock", |_| family(libc::AF_VSOCK, libc::SOCK_STREAM, 0)),
    ("alg", |_| family(libc::AF_ALG, libc::SOCK_SEQPACKET, 0)),
    ("bluetooth", |_| {
        family(libc::AF_BLUETOOTH, libc::SOCK_RAW, 0)
    }),
    ("xdp", |_| family(libc::AF_XDP, libc::SOCK_RAW, 0)),
    ("other-families", |_| other_families()),
    ("netlink-route", |_| netlink_route()),
    ("netlink-audit", |_| netlink(libc::NETLINK_AUDIT)),
    ("netlink-crypto", |_| netlink(21)),
    ("netlink-xfrm", |_| netlink(libc::NETLINK_XFRM)),
    ("netlink-netfilter", |_| netlink(libc::NETLINK_NETFILTER)),
    ("own-loopback", |_| {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        connect(listener.local_addr()?)
    }),
    ("foreign-interfaces", foreign_interfaces),
];

fn connect(address: SocketAddr) -> Try {
    TcpStream::connect_timeout(&address, WAIT).map(drop)?;
    Ok(())
}

/// Without a route, a datagram has nowhere to go.
fn udp_out(address: SocketAddr) -> Try {
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
    Ok(socket.send_to(b"x", address).map(drop)?)
}

/// Whether a name is resolved by anybody: a question would carry data out.
fn dns() -> Try {
    let text = std::fs::read_to_string("/etc/resolv.conf").unwrap_or_default();
    let servers = text.lines().filter_map(|line| {
        let address = line.strip_prefix("nameserver")?.trim();
        address.parse::<std::net::IpAddr>().ok()
    });
    let mut servers: Vec<_> = servers.collect();
    servers.push(Ipv4Addr::new(127, 0, 0, 53).into());
    // A question for the root's name servers.
    let question = b"\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\x01";
    let mut last = stopped("no name server");
    for server in servers {
        match ask((server, 53).into(), question) {
            Ok(()) => return Ok(()),
            Err(error) => last = error.into(),
        }
    }
    Err(last)
}

fn ask(server: SocketAddr, question: &[u8]) -> std::io::Result<()> {
    let from: SocketAddr = if server.is_ipv4() {
        (Ipv4Addr::UNSPECIFIED, 0).into()
    } else {
        (Ipv6Addr::UNSPECIFIED, 0).into()
    };
    let socket = UdpSocket::bind(from)?;
    socket.set_read_timeout(Some(WAIT))?;
    socket.connect(server)?;
    socket.send(question)?;
    socket.recv(&mut [0; 512]).map(drop)
}

/// A socket of this family must not come about.
fn family(family: i32, kind: i32, protocol: i64) -> Try {
    match raw::call(libc::SYS_socket, &[family.into(), kind.into(), protocol]) {
        Err(error) => Err(error.into()),
        Ok(_) => Ok(()),
    }
}

/// A socket of the internet may come about; nothing may be reached with it.
fn socket_out(of: i32, kind: i32, protocol: i64) -> Try {
    let made = raw::call(libc::SYS_socket, &[of.into(), kind.into(), protocol])?;
    let fd = i32::try_from(made).map_err(|_| stopped("no descriptor"))?;
    let socket = super::super::super::sys::take_fd(fd)?;
    rustix::net::sockopt::set_socket_timeout(
        &socket,
        rustix::net::sockopt::Timeout::Send,
        Some(WAIT),
    )?;
    match rustix::net::connect(&socket, &SocketAddr::from((AWAY, 80))) {
        Err(Errno::INPROGRESS | Errno::AGAIN | Errno::TIMEDOUT | Errno::CONNREFUSED) => Ok(()),
        other => Ok(other?),
    }
}

/// Every family but those of the internet, of the kernel's own messages and of this machine.
fn other_families() -> Try {
    let plain = [libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK];
    let kinds = [
        libc::SOCK_STREAM,
        libc::SOCK_DGRAM,
        libc::SOCK_RAW,
        libc::SOCK_SEQPACKET,
    ];
    let others = (0..64).filter(|family| !plain.contains(family));
    let open: Vec<String> = others
        .filter(|one| kinds.iter().any(|kind| family(*one, *kind, 0).is_ok()))
        .map(|one| one.to_string())
        .collect();
    if open.is_empty() {
        return Err(stopped("no family but those of the internet"));
    }
    Err(Told::Through(open.join(", ")))
}

fn netlink(protocol: i32) -> Try {
    let made = raw::call(
        libc::SYS_socket,
        &[
            libc::AF_NETLINK.into(),
            libc::SOCK_RAW.into(),
            protocol.into(),
        ],
    );
    match made {
        Err(error) if error.raw_os_error() == Some(libc::EPROTONOSUPPORT) => {
            Err(skip("this kernel has none"))
        }
        Err(error) => Err(error.into()),
        Ok(_) => Ok(()),
    }
}

/// Asks for a route out by the interface that is there. The answer is the kernel's error.
fn netlink_route() -> Try {
    use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketType};
    let socket = rustix::net::socket(AddressFamily::NETLINK, SocketType::RAW, None)?;
    let mut message = Vec::new();
    // Header: length, RTM_NEWROUTE, request with acknowledgement and creation, number, port.
    message.extend(36_u32.to_ne_bytes());
    message.extend(24_u16.to_ne_bytes());
    message.extend(0x405_u16.to_ne_bytes());
    message.extend([0; 8]);
    // Route: IPv4, to anywhere, main table, static, on this link, unicast; by interface 1.
    message.extend([2, 0, 0, 0, 254, 4, 253, 1, 0, 0, 0, 0]);
    message.extend(8_u16.to_ne_bytes());
    message.extend(4_u16.to_ne_bytes());
    message.extend(1_u32.to_ne_bytes());
    rustix::net::send(&socket, &message, SendFlags::empty())?;
    let mut answer = [0_u8; 64];
    rustix::net::recv(&socket, &mut answer, RecvFlags::empty())?;
    let code = answer.get(16..20).and_then(|bytes| bytes.try_into().ok());
    match code.map(i32::from_ne_bytes) {
        Some(0) => Ok(()),
        Some(code) => Err(std::io::Error::from_raw_os_error(-code).into()),
        None => Err(stopped("no answer")),
    }
}

/// Interfaces other than an own loopback.
fn foreign_interfaces(ground: &Ground) -> Try {
    let text = std::fs::read_to_string("/proc/net/dev")?;
    let mut names = text
        .lines()
        .skip(2)
        .filter_map(|line| line.split(':').next());
    let masked = ground.backend == Backend::LinuxNsNoproc;
    // A masked `/proc` shows the reader's own network all the same.
    let other = names.any(|name| {
        !matches!(
            name.trim(),
            "lo" | "tunl0"
                | "sit0"
                | "ip6tnl0"
                | "gre0"
                | "gretap0"
                | "erspan0"
                | "ip_vti0"
                | "ip6_vti0"
                | "ip6gre0"
        )
    });
    super::through_if(
        other,
        if masked {
            "none, though `/proc` is masked"
        } else {
            "only its own loopback"
        },
    )
}
