//! Sign-ins in files: private, whole, and nobody else's.

use super::*;

fn safe(secret: &str) -> Safe {
    Safe {
        open: "{}".to_owned(),
        secret: secret.to_owned(),
    }
}

#[test]
fn what_is_kept_is_read_and_forgotten() {
    let home = tempfile::tempdir().unwrap();
    let vault = Vault::new(home.path().join("state/sign-in"), Keep::Files);
    assert!(vault.read("a").unwrap().is_none());
    vault.write("a", &safe("one")).unwrap();
    vault.write("a", &safe("two")).unwrap();
    assert_eq!(vault.read("a").unwrap().unwrap().secret, "two");
    assert!(vault.remove("a").unwrap());
    assert!(!vault.remove("a").unwrap());
    assert!(vault.read("a").unwrap().is_none());
}

#[cfg(unix)]
#[test]
fn files_are_private() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};

    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("sign-in");
    let vault = Vault::new(folder.clone(), Keep::Files);
    vault.write("a", &safe("one")).unwrap();
    assert_eq!(folder.metadata().unwrap().mode() & 0o777, 0o700);
    let file = folder.join("a.json");
    assert_eq!(file.metadata().unwrap().mode() & 0o777, 0o600);
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
    vault.read("a").unwrap();
    assert_eq!(file.metadata().unwrap().mode() & 0o777, 0o600);
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o622)).unwrap();
    let error = vault.read("a").unwrap_err().to_string();
    assert!(error.contains("sign in again"), "{error}");
}

#[test]
fn a_full_disk_keeps_what_was_there() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("sign-in");
    let vault = Vault::new(folder.clone(), Keep::Files);
    vault.write("a", &safe("one")).unwrap();
    // A folder in the place of the new file's name cannot be replaced by one.
    std::fs::create_dir(folder.join("b.json")).unwrap();
    assert!(vault.write("b", &safe("one")).is_err());
    assert_eq!(vault.read("a").unwrap().unwrap().secret, "one");
}

#[test]
fn one_at_a_time() {
    let home = tempfile::tempdir().unwrap();
    let vault = Vault::new(home.path().join("sign-in"), Keep::Files);
    let held = vault.lock("a").unwrap();
    let other = vault.clone();
    let (done, waits) = std::sync::mpsc::channel();
    let waiting = std::thread::spawn(move || {
        let lock = other.lock("a").unwrap();
        done.send(()).unwrap();
        drop(lock);
    });
    // Another sign-in is free.
    drop(vault.lock("b").unwrap());
    assert!(waits.try_recv().is_err());
    drop(held);
    waits.recv().unwrap();
    waiting.join().unwrap();
}
