//! A contained run does the work it is for: builds, tests, commits, databases, servers.
//!
//! What is not on this machine is said in one line.

use crate::contain_ground::{Contained, PYTHON, Who};
use std::{fs, path::Path, process::Command};

/// Whether a program lies where every run sees it.
fn has(program: &str) -> bool {
    let folders = ["/usr/local/bin", "/usr/bin", "/bin"];
    let is_there = folders
        .iter()
        .any(|folder| Path::new(folder).join(program).exists());
    if !is_there {
        eprintln!("did not run: there is no {program} on this machine");
    }
    is_there
}

#[test]
fn a_c_program_is_built_and_run() {
    if !has("gcc") {
        return;
    }
    for who in Who::all() {
        let ground = Contained::new(who);
        ground.file(
            "a.c",
            "#include <stdio.h>\nint main(void){puts(\"built\");}\n",
        );
        let output = ground.edit("gcc -o a a.c && ./a");
        assert_eq!(output.stdout, "built\n");
        assert!(ground.work().join("a").exists());
    }
}

#[test]
fn node_runs_a_script_of_a_package() {
    if !has("npm") {
        return;
    }
    for who in Who::all() {
        let ground = Contained::new(who);
        ground.file(
            "package.json",
            r#"{"name":"p","version":"1.0.0","scripts":{"t":"echo ran"}}"#,
        );
        let output = ground.edit("npm run -s t");
        assert_eq!(output.stdout, "ran\n");
    }
}

#[test]
fn python_makes_an_environment_and_starts_processes() {
    for who in Who::all() {
        let ground = Contained::new(who);
        let text = format!(
            "{PYTHON} -c 'import multiprocessing as m; print(m.Pool(2).map(abs, [-1]))'; \
             {PYTHON} -m venv --without-pip v && v/bin/python -c 'print(7)'"
        );
        let output = ground.edit(&text);
        assert_eq!(output.stdout, "[1]\n7\n");
    }
}

/// Writes a wheel that holds one module.
const WHEEL: &str = r"
import zipfile
with zipfile.ZipFile('small-1.0-py3-none-any.whl', 'w') as wheel:
    info = 'small-1.0.dist-info/'
    wheel.writestr('small.py', 'print(40 + 2)\n')
    wheel.writestr(info + 'METADATA', 'Metadata-Version: 2.1\nName: small\nVersion: 1.0\n')
    wheel.writestr(info + 'WHEEL', 'Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n')
    names = ('small.py', info + 'METADATA', info + 'WHEEL', info + 'RECORD')
    wheel.writestr(info + 'RECORD', ''.join(name + ',,\n' for name in names))
";

/// Whether Python has a module.
fn has_module(name: &str) -> bool {
    let mut asked = Command::new(PYTHON);
    let asked = asked.args(["-c", &format!("import {name}")]).output();
    let is_there = asked.is_ok_and(|output| output.status.success());
    if !is_there {
        eprintln!("did not run: {PYTHON} has no {name} on this machine");
    }
    is_there
}

#[test]
fn pip_installs_a_wheel_into_the_project() {
    if !has_module("pip") {
        return;
    }
    for who in Who::all() {
        let ground = Contained::new(who);
        ground.file("wheel.py", WHEEL);
        let text = format!(
            "{PYTHON} wheel.py && {PYTHON} -m pip install -q --no-index --find-links . \
             --target lib small && PYTHONPATH=lib {PYTHON} -m small"
        );
        let output = ground.edit(&text);
        // Above it stands what pip thinks of being root.
        assert!(output.stdout.ends_with("42\n"), "{output:#?}");
        assert!(ground.work().join("lib/small.py").exists());
        if !has_module("ensurepip") {
            continue;
        }
        let text = format!(
            "{PYTHON} -m venv v && v/bin/pip install -q --no-index --find-links . small && \
             v/bin/python -m small"
        );
        let output = ground.edit(&text);
        assert!(output.stdout.ends_with("42\n"), "{output:#?}");
    }
}

#[test]
fn a_toolchain_of_the_home_on_path_is_there_and_cannot_be_changed() {
    for who in Who::all() {
        let ground = Contained::new(who);
        ground.file("../.cargo/bin/tool", "#!/bin/sh\necho tool\n");
        ground.file("../.cargo/env", "beside");
        let tool = ground.home.path().join(".cargo/bin/tool");
        crate::contain_ground::set_mode(&tool, 0o755);
        let path = format!("{}/.cargo/bin:/usr/bin:/bin", ground.home.path().display());
        let text = "tool; cat ~/.cargo/env; echo; (echo x > ~/.cargo/env) 2>/dev/null || echo kept";
        let words = ["run", "--wait", "--sandbox", "edit", "-c", text];
        let mut command = ground.outlast(&words);
        command.env("PATH", path);
        let output = outlast_testkit::capture(command);
        assert_eq!(output.stdout, "tool\nbeside\nkept\n", "{output:#?}");
    }
}

#[test]
fn cargo_builds_and_tests_without_a_network() {
    let home = std::env::var_os("HOME").map(std::path::PathBuf::from);
    let cargo_home = std::env::var_os("CARGO_HOME").map(std::path::PathBuf::from);
    let cargo_home = cargo_home.or_else(|| home.map(|home| home.join(".cargo")));
    let Some(folder) = cargo_home
        .map(|folder| folder.join("bin"))
        .filter(|bin| bin.join("cargo").exists())
    else {
        eprintln!("did not run: cargo is not where rustup puts it");
        return;
    };
    // A user of these tests cannot reach the home that the toolchain lies in.
    let who = Who::all()[0];
    let ground = Contained::new(who);
    ground.file(
        "Cargo.toml",
        "[package]\nname = \"p\"\nversion = \"0.1.0\"\nedition = \"2021\"\n",
    );
    ground.file("src/lib.rs", "#[test]\nfn it_is() {}\n");
    let words = [
        "run",
        "--wait",
        "--sandbox",
        "edit",
        "--",
        "cargo",
        "test",
        "--offline",
    ];
    let mut command = ground.outlast(&words);
    let real = folder.parent().expect("it has one");
    command.env("PATH", format!("{}:/usr/bin:/bin", folder.display()));
    command.env("CARGO_HOME", real);
    if let Some(rustup) = std::env::var_os("RUSTUP_HOME") {
        command.env("RUSTUP_HOME", rustup);
    } else {
        command.env("RUSTUP_HOME", real.with_file_name(".rustup"));
    }
    let output = outlast_testkit::capture(command);
    assert_eq!(output.code, Some(0), "{output:#?}");
    assert!(output.stdout.contains("it_is ... ok"), "{output:#?}");
}

/// Runs git outside, as who owns the project.
#[track_caller]
fn git(ground: &Contained, words: &[&str]) {
    let mut command: Command = ground.command(Path::new("/usr/bin/env"), &["git"]);
    command.args(words);
    let output = outlast_testkit::capture(command);
    assert_eq!(output.code, Some(0), "{output:#?}");
}

const COMMIT: &str =
    "echo x > f && git add f && git commit -qm message && git log --format='%an %s'";

#[test]
fn git_commits_as_its_user_and_changes_no_configuration() {
    if !has("git") {
        return;
    }
    for who in Who::all() {
        let ground = Contained::new(who);
        ground.file(
            "../.gitconfig",
            "[user]\n\tname = Somebody\n\temail = s@b.example\n",
        );
        git(&ground, &["init", "-q", "."]);
        let output = ground.edit(COMMIT);
        assert_eq!(output.stdout, "Somebody message\n");
        let text = "git config a.b c 2>/dev/null || echo kept; git log --format=%s";
        assert_eq!(ground.edit(text).stdout, "kept\nmessage\n");
        let read = ground.run(&["--sandbox", "edit", "--git", "read"], COMMIT);
        assert_ne!(read.code, Some(0), "{read:#?}");
        let write = ground.run(&["--sandbox", "edit", "--git", "write"], "git config a.b c");
        assert_eq!(write.code, Some(0), "{write:#?}");
    }
}

#[test]
fn a_linked_worktree_commits_and_a_false_one_shows_nothing() {
    if !has("git") {
        return;
    }
    for who in Who::all() {
        let ground = Contained::new(who);
        ground.file(
            "../.gitconfig",
            "[user]\n\tname = Somebody\n\temail = s@b.example\n",
        );
        let main = ground.home.path().join("main");
        fs::create_dir(&main).expect("the home can be filled");
        ground.hand_over();
        let path = main.to_str().expect("text");
        git(&ground, &["init", "-q", path]);
        git(
            &ground,
            &["-C", path, "commit", "-q", "--allow-empty", "-m", "first"],
        );
        git(
            &ground,
            &["-C", path, "worktree", "add", "-q", "-f", "../work"],
        );
        let output = ground.edit(COMMIT);
        assert_eq!(output.stdout, "Somebody message\nSomebody first\n");
        let hook = format!("echo x > {path}/.git/hooks/post-checkout");
        let kept = ground.run(&["--sandbox", "edit"], &hook);
        assert_ne!(kept.code, Some(0), "{kept:#?}");

        // A file that only claims to belong to a repository opens none.
        let link = ground.work().join(".git");
        let own = fs::read_to_string(&link).expect("a link");
        let own = own.trim().trim_start_matches("gitdir: ").to_owned();
        let back = Path::new(&own).join("gitdir");
        fs::remove_file(&back).expect("it is ours");
        crate::case_ground::write(&back, "/elsewhere/.git\n");
        let refused = ground.run(&["--sandbox", "edit"], &format!("ls {path}"));
        assert_ne!(refused.code, Some(0), "{refused:#?}");
    }
}

#[test]
fn a_database_a_server_and_sockets_work() {
    for who in Who::all() {
        let ground = Contained::new(who);
        ground.file(
            "all.py",
            "import os, socket, sqlite3, tempfile, threading\n\
             base = sqlite3.connect('base.db')\n\
             print(base.execute('pragma journal_mode=wal').fetchone()[0])\n\
             base.execute('create table t(x)'); base.execute('insert into t values (1)')\n\
             base.commit()\n\
             print(sqlite3.connect('base.db').execute('select x from t').fetchone()[0])\n\
             server = socket.create_server(('127.0.0.1', 0))\n\
             answer = lambda: server.accept()[0].sendall(b'tcp')\n\
             threading.Thread(target=answer).start()\n\
             print(socket.create_connection(server.getsockname()).recv(9).decode())\n\
             path = tempfile.mkdtemp() + '/socket'\n\
             local = socket.socket(socket.AF_UNIX); local.bind(path); local.listen()\n\
             client = socket.socket(socket.AF_UNIX); client.connect(path)\n\
             print('unix', path.startswith('/tmp/'))\n\
             print('loopback', socket.gethostbyname('localhost'))\n",
        );
        let output = ground.edit(&format!("{PYTHON} all.py"));
        assert_eq!(
            output.stdout,
            "wal\n1\ntcp\nunix True\nloopback 127.0.0.1\n"
        );
    }
}

#[test]
fn names_that_appear_and_would_be_obeyed_are_reported() {
    for who in Who::all() {
        let ground = Contained::new(who);
        ground.file(".claude/settings.json", "{}");
        let output = ground.edit("mkdir .codex && echo x > .codex/config.toml && echo x > .envrc");
        let wanted = "note: .codex, .envrc: not there before";
        assert!(output.stderr.contains(wanted), "{output:#?}");
        let runs = ground.json(&["ps", "-a", "--json"]);
        let posture = &runs["runs"][0]["posture"];
        assert_eq!(posture["appeared"], serde_json::json!([".codex", ".envrc"]));
        assert_eq!(posture["protected"], serde_json::json!([".claude"]));
    }
}

#[test]
fn a_run_in_a_directory_reached_by_a_link_finds_it_under_its_true_name() {
    let ground = Contained::new(Who::all()[0]);
    let link = ground.home.path().join("by-link");
    std::os::unix::fs::symlink(ground.work(), &link).expect("a link");
    let link = link.to_str().expect("text");
    let output = ground.run(&["--sandbox", "edit", "--cwd", link], "pwd -P");
    assert_eq!(output.stdout.trim(), ground.work().to_str().expect("text"));
}

#[test]
fn only_variables_that_a_run_needs_go_into_it() {
    let ground = Contained::new(Who::all()[0]);
    let words = [
        "run",
        "--wait",
        "--sandbox",
        "edit",
        "--env",
        "ASKED=1",
        "--",
        "env",
    ];
    let mut command = ground.outlast(&words);
    command
        .env("SSH_AUTH_SOCK", "/run/agent")
        .env("CARGO_REGISTRY_TOKEN", "a-long-token")
        .env("EDITOR", "vi")
        .env("LC_ALL", "C.UTF-8");
    let output = outlast_testkit::capture(command);
    for kept in ["ASKED=1", "LC_ALL=C.UTF-8", "HOME=", "OUTLAST_RUN="] {
        assert!(output.stdout.contains(kept), "{kept}: {output:#?}");
    }
    for left in ["SSH_AUTH_SOCK", "TOKEN", "EDITOR", "OUTLAST_HOME"] {
        assert!(!output.stdout.contains(left), "{left}: {output:#?}");
    }
}

/// A host's tools ask for login shells; in there one would forget the PATH that it was given.
#[test]
fn a_shell_of_a_contained_run_keeps_its_path() {
    let ground = Contained::new(Who::all()[0]);
    ground.file("../.cargo/bin/tool", "#!/bin/sh\necho tool\n");
    let tool = ground.home.path().join(".cargo/bin/tool");
    crate::contain_ground::set_mode(&tool, 0o755);
    let words = [
        "run",
        "--wait",
        "--sandbox",
        "edit",
        "--login",
        "-c",
        "tool",
    ];
    let mut command = ground.outlast(&words);
    command.env(
        "PATH",
        format!(
            "{}:/usr/bin:/bin",
            tool.parent().expect("a folder").display()
        ),
    );
    let output = outlast_testkit::capture(command);
    assert_eq!(output.stdout, "tool\n", "{output:#?}");
    assert!(output.stderr.contains("no login shell"), "{output:#?}");
}

/// Texts that are too long for a word are kept in a file of the run, which lies in the store.
#[test]
fn a_shell_text_too_long_for_a_word_is_there_to_be_read_and_nothing_else_of_its_run() {
    for who in Who::all() {
        let ground = Contained::new(who);
        let filler = "# nothing to see here\n".repeat(8_000);
        let text = format!("{filler}ls -A \"${{0%/*}}\"; echo x >> \"$0\" || echo held\n");
        ground.file("text", &text);
        let program = ground.program().display().to_string();
        let words = "exec \"$0\" run --wait --sandbox edit -c - < text";
        let output = outlast_testkit::capture(
            ground.command(Path::new("/bin/sh"), &["-c", words, &program]),
        );
        assert_eq!(output.code, Some(0), "{who:?}: {output:#?}");
        let lines: Vec<&str> = output.stdout.lines().collect();
        assert_eq!(lines.first(), Some(&"command"), "{who:?}: {output:#?}");
        assert_eq!(lines.last(), Some(&"held"), "{who:?}: {output:#?}");
        assert!(!lines.contains(&"spec.json"), "{who:?}: {output:#?}");
    }
}
