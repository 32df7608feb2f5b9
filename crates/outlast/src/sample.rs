//! Fixed records for the tests of pages.

use outlast_journal::{
    Failure, Kind, Lifetime, Origin, OutputRecord, Posture, RUN_SCHEMA, Record, RunId, Status,
    Survives, Timestamp, Usage,
};

/// Returns the time that `text` says on the day of all samples.
pub(crate) fn at(text: &str) -> Timestamp {
    Timestamp::parse(&format!("2026-11-29T{text}Z")).expect("a time of day")
}

/// Returns an id that begins with `start`.
pub(crate) fn id(start: &str) -> RunId {
    RunId::parse(&format!("{start:0<16}")).expect("letters of an id")
}

/// Returns a run that has been building for four minutes.
pub(crate) fn running() -> Record {
    Record {
        schema: RUN_SCHEMA.to_owned(),
        id: id("m3qd"),
        kind: Kind::Command,
        label: "build".to_owned(),
        command: "cargo build --release".to_owned(),
        task: None,
        project: "/home/ann/src/app".to_owned(),
        cwd: "/home/ann/src/app/crates/core".to_owned(),
        session: None,
        parent: None,
        resumes: None,
        status: Status::Running,
        exit_code: None,
        exit_rule: None,
        signal: None,
        ended_by: None,
        failure: None,
        summary: Some("Compiling serde_json v1.0.154 (212/431)".to_owned()),
        created: at("11:55:48"),
        started: Some(at("11:55:48.010")),
        updated: at("11:59:59"),
        ended: None,
        elapsed_ms: Some(252_000),
        output: OutputRecord {
            bytes: 18_204,
            kept: 18_204,
            gap: None,
            last_output_at: Some(at("11:59:59")),
            after_end: None,
            lost: None,
        },
        leftovers: Vec::new(),
        runs_inside: Vec::new(),
        unkillable: Vec::new(),
        posture: Posture::host(),
        origin: Origin {
            host: Some("cli".to_owned()),
            ..Origin::default()
        },
        child_session_id: None,
        usage: None,
        timeout_secs: None,
        deadline: None,
        idle_ttl_secs: None,
        lifetime: Lifetime::Detached,
        shell: None,
        cancelling: false,
        queue_position: None,
        needs_approval: None,
        survives: Some(Survives {
            host_exit: true,
            terminal: true,
            unit_restart: false,
        }),
    }
}

/// Returns a run that failed two hours ago.
pub(crate) fn failed() -> Record {
    Record {
        id: id("z8zz"),
        label: "lint".to_owned(),
        command: "cargo clippy".to_owned(),
        status: Status::Failed,
        exit_code: Some(101),
        exit_rule: Some("direct".to_owned()),
        ended_by: Some("self".to_owned()),
        summary: Some("error[E0382]: borrow of moved value".to_owned()),
        created: at("09:59:00"),
        started: Some(at("09:59:00.010")),
        ended: Some(at("09:59:41")),
        updated: at("09:59:41"),
        elapsed_ms: Some(41_000),
        usage: Some(Usage {
            cpu_ms: 63_400,
            peak_rss_bytes: 812 << 20,
            ..Usage::default()
        }),
        ..running()
    }
}

/// Returns a run whose supervisor died.
pub(crate) fn interrupted() -> Record {
    Record {
        id: id("w4tt"),
        label: "deploy".to_owned(),
        command: "./deploy.sh".to_owned(),
        status: Status::Interrupted,
        ended_by: Some("unknown".to_owned()),
        summary: Some("supervisor gone at 09:12; exit code unknown".to_owned()),
        created: Timestamp(at("11:00:00").unix_ms() - 86_400_000),
        ended: Some(at("09:12:00")),
        elapsed_ms: None,
        ..running()
    }
}

/// Returns why a run of a missing program failed.
pub(crate) fn no_program() -> Failure {
    Failure {
        code: "no_such_program".to_owned(),
        message: "there is no program `crgo`".to_owned(),
        errno: Some(2),
    }
}
