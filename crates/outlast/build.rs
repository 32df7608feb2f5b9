//! Links the program so that a supervisor, which is this program too, starts fast and
//! shares nearly all of its pages.
//!
//! At a fixed address, only where that is sound: a static-pie target builds with it and
//! crashes at start. Why it is a link argument and nothing else:
//! docs/decisions/0001-non-pie.md. With its own unwinder: docs/decisions/0009-start-up.md.

use std::env;
use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let value = |name: &str| env::var(name).unwrap_or_default();
    let features = value("CARGO_CFG_TARGET_FEATURE");
    let is_static = features.split(',').any(|feature| feature == "crt-static");
    let is_glibc =
        value("CARGO_CFG_TARGET_OS") == "linux" && value("CARGO_CFG_TARGET_ENV") == "gnu";
    if !is_glibc || is_static {
        return;
    }
    println!("cargo:rustc-link-arg-bins=-no-pie");
    println!("cargo:rustc-link-arg-examples=-no-pie");
    if value("HOST") == value("TARGET") && has_static_unwinder() {
        println!("cargo:rustc-link-lib=static:-bundle=gcc_eh");
    }
}

/// Returns whether the C compiler, which links the program, has the unwinder as an archive.
///
/// Without one the program is linked with the shared library, as any other.
fn has_static_unwinder() -> bool {
    let linker = env::var("RUSTC_LINKER").unwrap_or_else(|_| "cc".to_owned());
    let found = Command::new(linker)
        .arg("-print-file-name=libgcc_eh.a")
        .output();
    // What is not found is given back as it was asked for, without a folder.
    found.is_ok_and(|output| {
        let path = String::from_utf8_lossy(&output.stdout);
        Path::new(path.trim()).is_absolute()
    })
}
