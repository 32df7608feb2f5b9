//! Case SE-02, for agents: the key of the model reaches no call and stands in no file and no
//! view; what a call prints of another secret is masked wherever it is shown.

use crate::{
    agent_proof::{KEY, Proof, document, shell},
    contain_ground::Who,
    http_client::Server,
    mcp_client::Client,
};
use outlast_testkit::{
    capture,
    model::{Script, ScriptedModel, Turn},
};
use serde_json::{Value, json};
use std::{fs, path::Path, process::Command};

/// A secret of the project: it stands in a file there, and in the caller's environment.
const TOKEN: &str = "tok-9f8e7d6c5b4a39281706";

/// Shows every environment that a call can see.
const SHOW: &str = "env; printenv OPENAI_API_KEY; cat /proc/self/environ; \
    for one in /proc/[0-9]*; do tr '\\0' '\\n' <$one/environ; done 2>/dev/null; true";

fn proof() -> Proof {
    let proof = Proof::new(Who::all()[0]);
    proof
        .ground
        .file(".env", &format!("SERVICE_TOKEN={TOKEN}\n"));
    proof
}

fn with_secrets(mut command: Command) -> Command {
    command
        .env("SERVICE_TOKEN", TOKEN)
        .env("PLAIN_VALUE", "nothing-special");
    command
}

/// Returns the files below `dir` that hold `secret`.
fn holders(dir: &Path, secret: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).expect("it can be read").flatten() {
        let path = entry.path();
        let kind = entry.file_type().expect("it can be looked at");
        if kind.is_dir() {
            found.extend(holders(&path, secret));
        } else if kind.is_file() {
            let bytes = fs::read(&path).expect("it can be read");
            let mut parts = bytes.windows(secret.len());
            if parts.any(|part| part == secret.as_bytes()) {
                found.push(entry.file_name().to_string_lossy().into_owned());
            }
        }
    }
    found
}

/// Returns everything that any surface shows of a run.
fn views(proof: &Proof, id: &str) -> Vec<(String, String)> {
    let mut views = Vec::new();
    for words in [
        &["logs", id][..],
        &["logs", "--json", id],
        &["logs", "--grep", "TOKEN|KEY", id],
        &["events", id],
        &["events", "--jsonl", id],
        &["show", id],
        &["show", "--json", id],
        &["show", "--env", id],
        &["wait", "--json", id],
        &["ps", "-a", "--json"],
        &["asks"],
        &["export", id],
    ] {
        let output = proof.run(words);
        views.push((
            words.join(" "),
            format!("{}{}", output.stdout, output.stderr),
        ));
    }
    let server = Server::spawn(proof.outlast(&["serve", "--port", "0"]));
    for target in ["", "/events", "/output"] {
        let target = format!("/api/runs/{id}{target}");
        let answer = server.send(&server.get(&target));
        assert_eq!(answer.status, 200, "{target}: {answer:?}");
        views.push((target, answer.body));
    }
    for target in ["/api/runs", "/metrics"] {
        views.push((target.to_owned(), server.send(&server.get(target)).body));
    }
    let (mut client, opened) = Client::open_with(proof.outlast(&["mcp"]), "host");
    views.push(("initialize".to_owned(), opened.to_string()));
    let mut since = 0;
    loop {
        let polled = client.call("assistant_poll", json!({"run_id": id, "since_seq": since}));
        assert!(!polled.is_error, "{polled:?}");
        views.push((format!("assistant_poll from {since}"), polled.text));
        since = polled.object["next_seq"].as_u64().expect("a number");
        if polled.object["more"] != true {
            break;
        }
    }
    for (tool, arguments) in [
        ("background_output", json!({"id": id, "max_bytes": 32_768})),
        ("background_list", json!({})),
        ("background_wait", json!({"ids": [id]})),
    ] {
        views.push((tool.to_owned(), client.call(tool, arguments).text));
    }
    views
}

#[track_caller]
fn assert_in_no_view(proof: &Proof, id: &str, secret: &str) {
    for (view, seen) in views(proof, id) {
        assert!(!seen.contains(secret), "{view}: {seen}");
        let may_be_empty = view == "asks" || view.contains("--grep");
        assert!(
            may_be_empty || !seen.trim().is_empty(),
            "{view} shows nothing"
        );
    }
}

/// Returns what the model was told, all of it.
fn told(model: &ScriptedModel) -> String {
    let asked = model.asked();
    asked.iter().map(|asked| asked.body.to_string()).collect()
}

#[test]
fn the_key_of_the_model_reaches_no_call_and_stands_in_no_file_and_no_view() {
    for tier in ["edit", "host"] {
        let proof = proof();
        // On the host nothing keeps a call from looking into its caller.
        let text = if tier == "host" {
            "env; cat /proc/self/environ"
        } else {
            SHOW
        };
        proof.model.answer_all(move |asked| {
            let is_told = asked.body.to_string().contains("has ended");
            match asked.results.len() {
                0 => Turn::call("shell", shell(text))
                    .and_call("shell", shell("false --key $OPENAI_API_KEY"))
                    .and_call("background_run", json!({"command": text, "label": "env"})),
                3 if !is_told => Turn::text("I wait for it."),
                3 => Turn::call("background_output", json!({"id": "env"})),
                _ => Turn::text("I looked."),
            }
        });
        let words = [
            "do",
            "--json",
            "--sandbox",
            tier,
            "--until",
            "env; true",
            "Show the key.",
        ];
        let output = capture(with_secrets(proof.outlast(&words)));
        let told_at_end = document(&output);
        assert_eq!(told_at_end["status"], "success", "{output:#?}");
        proof.model.assert_played();
        // It was used, and only where it belongs.
        let asked = proof.model.asked();
        assert!(
            asked
                .iter()
                .all(|asked| asked.headers["authorization"] == format!("Bearer {KEY}"))
        );
        assert!(!told(&proof.model).contains(KEY));
        let seen = proof.answers();
        assert!(
            seen[0].contains("PATH=") && seen[3].contains("PATH="),
            "{seen:#?}"
        );
        assert!(!format!("{output:?}").contains(KEY), "{output:#?}");
        let runs = proof.ground.json(&["ps", "-a", "--json"]);
        let runs = runs["runs"].as_array().expect("a list");
        assert_eq!(runs.len(), 2, "{runs:#?}");
        for run in runs {
            let id = run["id"].as_str().expect("an id");
            if run["kind"] == "agent" {
                assert_in_no_view(&proof, id, KEY);
            }
        }
        assert_eq!(
            holders(&proof.ground.home.store(), KEY),
            Vec::<String>::new(),
            "{tier}"
        );
    }
}

#[test]
fn a_secret_that_calls_print_is_masked_for_model_events_document_and_every_view() {
    let proof = proof();
    proof.model.play(
        Script::new()
            .turn(
                Turn::text("I look.")
                    .and_call(
                        "shell",
                        shell("cat .env; printf 'tok-9f8e7d6c'; sleep 0.2; echo 5b4a39281706"),
                    )
                    .and_call("read_file", json!({"path": ".env"}))
                    .and_call("grep_files", json!({"pattern": "TOKEN", "path": ".env"}))
                    .and_call(
                        "shell",
                        shell(&format!("echo {TOKEN} > copy; cat copy; exit 3")),
                    ),
            )
            .call(
                "write_file",
                json!({"path": "new", "content": format!("is {TOKEN}\n")}),
            )
            .call(
                "todo_write",
                json!({"items": [{"text": format!("use {TOKEN}"), "state": "open"}]}),
            )
            .text(&format!("The token is {TOKEN}.")),
    );
    let task = format!("Use {TOKEN}.");
    let words = ["do", "--json", "--sandbox", "edit", &task];
    let output = capture(with_secrets(proof.outlast(&words)));
    let end = document(&output);
    assert_eq!(end["status"], "success", "{output:#?}");
    assert!(!format!("{output:?}").contains(TOKEN), "{output:#?}");
    let id = end["run_id"].as_str().expect("an id").to_owned();
    assert_in_no_view(&proof, &id, TOKEN);
    proof.model.assert_played();
    proof.model.assert_histories();
    // What a call does with it is its own business: a file that is to hold it holds it.
    assert_eq!(proof.read("copy"), format!("{TOKEN}\n"));
    let mut holders = holders(&proof.ground.home.store(), TOKEN);
    holders.retain(|name| Path::new(name).extension().is_none_or(|end| end != "log"));
    assert_eq!(holders, ["journal.jsonl"], "logs are kept as they came");
    // In the journal are the model's own words, which it has to be told again as they were.
    let journal = fs::read_to_string(proof.run_dir_of(&id).join("journal.jsonl"));
    for line in journal
        .expect("it is ours")
        .lines()
        .filter(|line| line.contains(TOKEN))
    {
        let line: Value = serde_json::from_str(line).expect("a line");
        let kind = line["type"].as_str().unwrap_or_default();
        let own = ["model.turn", "call.request", "todo.set", "text", "final"];
        assert!(own.contains(&kind), "{line:#}");
    }
}

/// A vendor may repeat the key in what it answers; it is cut out there too.
#[test]
fn a_vendor_that_repeats_the_key_in_its_error_does_not_bring_it_into_the_document() {
    let proof = proof();
    let page = json!({"error": {"message": format!("Incorrect API key provided: {KEY}."), "code": "invalid_api_key"}});
    let refusal = Turn::raw(401, "application/json", &page.to_string());
    proof.model.answer_all(move |_| refusal.clone());
    let output = proof.run(&["do", "--json", "--local", "Say hello."]);
    let end = document(&output);
    assert_eq!(end["status"], "error", "{end:#}");
    assert_eq!(end["error"], "model_auth", "{end:#}");
    assert!(!format!("{output:?}").contains(KEY), "{output:#?}");
    let id = end["run_id"].as_str().expect("an id").to_owned();
    assert_in_no_view(&proof, &id, KEY);
    assert_eq!(
        holders(&proof.ground.home.store(), KEY),
        Vec::<String>::new()
    );
}
