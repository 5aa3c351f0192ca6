//! Compilers and their build tools, without a network.

use crate::stage::{Line, check};
use crate::tools::{CARGO, CC, GO};

#[test]
fn cargo_builds_offline() {
    check(&[Line::new(
        "cargo",
        &[CARGO, CC],
        "cargo init -q --lib --vcs none --name demo . && mkdir -p dependency/src
         printf '[package]\\nname = \"dependency\"\\nversion = \"1.0.0\"\\nedition = \"2021\"\\n' > dependency/Cargo.toml
         echo 'pub fn seven() -> u32 { 7 }' > dependency/src/lib.rs
         echo 'dependency = { path = \"dependency\" }' >> Cargo.toml
         echo 'fn main() { println!(\"cargo:rustc-env=MADE=by-a-script\"); }' > build.rs
         echo '#[test] fn it() { assert_eq!((dependency::seven(), env!(\"MADE\")), (7, \"by-a-script\")); }' > src/lib.rs
         cargo test --offline 2>&1",
        &["1 passed"],
    )]);
}

#[test]
fn go_builds_offline() {
    check(&[Line::new(
        "go",
        &[GO],
        "export CGO_ENABLED=0 GOTOOLCHAIN=local && go mod init demo
         printf 'package main\\nfunc main() { println(seven()) }\\nfunc seven() int { return 7 }\\n' > main.go
         printf 'package main\\nimport \"testing\"\\nfunc TestIt(t *testing.T) { if seven() != 7 { t.Fail() } }\\n' > main_test.go
         go build -o demo . && ./demo && go test ./...",
        &["7", "ok"],
    )]);
}

#[test]
fn make_and_a_c_compiler() {
    check(&[Line::new(
        "make",
        &[CC],
        "printf 'int main(void) { return 7; }\\n' > seven.c && cc -o seven seven.c
         ./seven || echo code $?",
        &["code 7"],
    )]);
}
