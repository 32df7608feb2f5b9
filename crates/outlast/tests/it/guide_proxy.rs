//! The recipe of the guide for allowed hosts, run as it is written, with squid and socat.
//!
//! The hosts are a web server of this machine, in namespaces of its own. What
//! is not there is said in one line.

use crate::case_ground::{OUTLAST, write};
use outlast_testkit::{Home, capture};
use std::{
    fs,
    os::unix::fs::chown,
    path::Path,
    process::{Command, Stdio},
};

const GUIDE: &str = include_str!("../../../../docs/guide/containment.md");
const SCRIPT: &str = include_str!("guide_proxy.sh");
const PROGRAMS: [&str; 7] = [
    "/usr/sbin/squid",
    "/usr/bin/socat",
    "/usr/bin/curl",
    "/usr/bin/openssl",
    "/usr/bin/setpriv",
    "/usr/bin/unshare",
    "/usr/sbin/ip",
];
/// A number that no account has.
const USER: u32 = 654_321;

/// Returns the block of the guide that begins so, without its fences.
fn block(begin: &str) -> &'static str {
    let mut texts = GUIDE.split("```").skip(1).step_by(2);
    texts
        .find_map(|text| text.strip_prefix(begin).map(|_| text))
        .and_then(|text| text.split_once('\n'))
        .expect("the guide has it")
        .1
}

#[test]
fn the_recipe_with_squid_lets_out_what_both_lists_allow_and_nothing_else() {
    let missing = PROGRAMS.iter().find(|path| !Path::new(path).exists());
    if let Some(missing) = missing {
        eprintln!("did not run: there is no {missing}");
        return;
    }
    if !rustix::process::geteuid().is_root() {
        eprintln!("did not run: a web server at port 443 needs root");
        return;
    }
    let ground = Home::new();
    let home = ground.path().join("home");
    for name in ["work", ".config/outlast"] {
        fs::create_dir_all(home.join(name)).expect("the home has room");
    }
    write(&ground.path().join("recipe.sh"), block("sh\nmkdir"));
    let config = block("toml\n[sandbox]\nproxy").replace("/home/me", &home.display().to_string());
    write(&home.join(".config/outlast/config.toml"), &config);
    let typed = block("text\n$ outlast run --sandbox edit --network allow:");
    let end = typed.rfind("'\n").expect("the command ends with a quote") + 1;
    let (command, shown) = typed.split_at(end);
    let command = command.trim_start_matches("$ ");
    write(&ground.path().join("command.sh"), command);
    for name in ["", "work", ".config", ".config/outlast"] {
        chown(home.join(name), Some(USER), Some(USER)).expect("root may");
    }
    crate::contain_ground::set_mode(ground.path(), 0o711);
    write(&ground.path().join("script.sh"), SCRIPT);
    let programs = Path::new(OUTLAST).parent().expect("it lies in a folder");
    let mut all = Command::new("/usr/bin/unshare");
    all.args(["--net", "--mount", "--propagation", "private"])
        .args(["--pid", "--fork", "--mount-proc", "--kill-child"])
        .args(["bash", "script.sh", &USER.to_string()])
        .current_dir(ground.path())
        .env_clear()
        .env(
            "PATH",
            format!("{}:/usr/sbin:/usr/bin:/sbin:/bin", programs.display()),
        )
        .env("LANG", "C.UTF-8")
        .stdin(Stdio::null());
    let output = capture(all);
    let log = fs::read_to_string(ground.path().join("recipe.log")).unwrap_or_default();
    assert_eq!(output.stdout, shown.trim_start(), "{output:#?}\n{log}");
    assert!(
        output
            .stderr
            .contains("network allow:.example.org,.example.net"),
        "{output:#?}"
    );
}
