//! The reader of TLS hellos and of SOCKS words, against bytes of every kind.

use proptest::prelude::*;

use super::bench::{handshake, hello, record, server_name};
use crate::address::Target;
use crate::sandbox::egress::hello::{self as reader, ServerName};
use crate::sandbox::egress::socks;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    /// Bytes of any kind never panic; once decided, more bytes change nothing.
    #[test]
    fn hellos_never_panic(
        start in 0usize..400,
        noise in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
        tail in prop::collection::vec(any::<u8>(), 0..60),
    ) {
        let mut bytes = hello(Some("api.test"));
        bytes.extend_from_slice(&tail);
        for (at, byte) in noise {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        let cut = start.min(bytes.len());
        let early = reader::read(&bytes[..cut]);
        let late = reader::read(&bytes);
        if early != Ok(None) {
            prop_assert_eq!(early, late);
        }
    }

    /// However a hello is cut into records, it names the same host.
    #[test]
    fn records_do_not_matter(sizes in prop::collection::vec(1usize..90, 1..12), name in "[a-z.]{1,60}") {
        let message = handshake(&[(0, server_name(&name)), (43, vec![2, 3, 4])]);
        let mut rest = &message[..];
        let mut bytes = Vec::new();
        for size in sizes.iter().cycle() {
            if rest.is_empty() {
                break;
            }
            let (part, left) = rest.split_at((*size).min(rest.len()));
            bytes.extend_from_slice(&record(part));
            rest = left;
        }
        let named = ServerName::Named(name.into_bytes());
        prop_assert_eq!(reader::read(&bytes), Ok(Some(named)));
        for cut in 0..bytes.len() {
            prop_assert_eq!(reader::read(&bytes[..cut]), Ok(None));
        }
    }

    /// A hello that is read as naming a host holds that name as it stands.
    #[test]
    fn names_are_not_made_up(bytes in prop::collection::vec(any::<u8>(), 0..120), length in 0u16..90) {
        let message = [&[1, 0][..], &length.to_be_bytes(), &[3, 3], &[0; 32], &[0, 0, 2, 0, 1, 1, 0], &bytes].concat();
        if let Ok(Some(ServerName::Named(name))) = reader::read(&record(&message)) {
            prop_assert!(message.windows(name.len()).any(|part| part == name));
        }
    }

    /// SOCKS words of any kind never panic, and a request takes what it names.
    #[test]
    fn socks_never_panics(mut bytes in prop::collection::vec(any::<u8>(), 0..300), shape in 0u8..3) {
        if shape > 0 && bytes.len() > 4 {
            bytes[..4].copy_from_slice(&[5, 1, 0, if shape == 1 { 3 } else { 1 }]);
        }
        if let Some((_, used)) = socks::greeting(&bytes) {
            prop_assert!(used <= bytes.len());
        }
        match socks::request(&bytes) {
            Ok(Some((target, used))) => {
                prop_assert!(used <= bytes.len());
                let same = socks::request(&bytes[..used]).unwrap();
                prop_assert_eq!(same, Some((target.clone(), used)));
                prop_assert_eq!(Target::from_authority(&target.to_string()).ok(), Some(target));
            }
            Ok(None) => {
                let more = [&bytes[..], &[0; 300]].concat();
                prop_assert!(socks::request(&more) != Ok(None));
            }
            Err(_) => {}
        }
    }
}
