//! Links the program so that a supervisor, which is this program too, starts fast and
//! shares nearly all of its pages.
//!
//! At a fixed address, only where that is sound: a static-pie target builds with it and
//! crashes at start. Why it is a link argument and nothing else:
//! docs/decisions/0001-non-pie.md. Without shared libraries, where the C library is there
//! as an archive: docs/decisions/0009-start-up.md.

use std::env;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;

/// What a program for glibc is linked with, as archives of the C compiler.
const ARCHIVES: [&str; 4] = ["libc.a", "libm.a", "libgcc_eh.a", "libgcc.a"];

fn main() -> io::Result<()> {
    println!("cargo:rerun-if-changed=build.rs");
    let value = |name: &str| env::var(name).unwrap_or_default();
    let features = value("CARGO_CFG_TARGET_FEATURE");
    let is_static = features.split(',').any(|feature| feature == "crt-static");
    let is_glibc =
        value("CARGO_CFG_TARGET_OS") == "linux" && value("CARGO_CFG_TARGET_ENV") == "gnu";
    if !is_glibc || is_static {
        return Ok(());
    }
    println!("cargo:rustc-link-arg-bins=-no-pie");
    println!("cargo:rustc-link-arg-examples=-no-pie");
    if value("HOST") != value("TARGET") {
        return Ok(());
    }
    let archives: Option<Vec<PathBuf>> = ARCHIVES.iter().map(|name| archive(name)).collect();
    match archives {
        Some(archives) => link_statically(&archives, Path::new(&value("OUT_DIR"))),
        None => Ok(()),
    }
}

/// Puts linker scripts that name the archives where the linker looks first.
///
/// The compiler asks for the shared C library and its unwinder by name, and has no other
/// setting than one that it gives to procedural macros as well.
fn link_statically(archives: &[PathBuf], folder: &Path) -> io::Result<()> {
    let mut script = "GROUP (".to_owned();
    for archive in archives {
        write!(script, " {}", archive.display()).map_err(io::Error::other)?;
    }
    script.push_str(" )\n");
    for name in ["libc.so", "libm.so", "libgcc_s.so"] {
        File::create(folder.join(name))?.write_all(script.as_bytes())?;
    }
    for target in ["bins", "examples"] {
        println!("cargo:rustc-link-arg-{target}=-static");
        println!("cargo:rustc-link-arg-{target}=-L{}", folder.display());
    }
    Ok(())
}

/// Returns where the C compiler, which links the program, has `name`.
fn archive(name: &str) -> Option<PathBuf> {
    let linker = env::var("RUSTC_LINKER").unwrap_or_else(|_| "cc".to_owned());
    let asked = format!("-print-file-name={name}");
    let output = Command::new(linker).arg(asked).output().ok()?;
    // What is not found is given back as it was asked for, without a folder.
    let path = PathBuf::from(String::from_utf8(output.stdout).ok()?.trim());
    path.is_absolute().then_some(path)
}
