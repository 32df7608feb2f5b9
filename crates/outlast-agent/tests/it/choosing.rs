//! Which model is taken: what was asked for, else what is there, else a refusal that says
//! all that would do.

use std::net::{Ipv4Addr, TcpListener};

use outlast_agent::models::{Choice, ChooseError, Provider, choose, context_tokens, key_of};
use outlast_journal::error::Advice;
use outlast_testkit::model::ScriptedModel;

/// An environment in which no server of this machine is found by chance.
struct Environment {
    variables: Vec<(&'static str, String)>,
}

/// An address at which nobody listens.
fn nowhere() -> String {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("loopback");
    listener.local_addr().expect("an address").to_string()
}

/// What has to be set, and what is then taken and why.
type Way<'a> = (&'a [(&'static str, String)], Provider, &'a str, &'a str);

impl Environment {
    fn new() -> Self {
        let llama = nowhere();
        let (host, port) = llama.split_once(':').expect("a port");
        Self {
            variables: vec![
                ("OLLAMA_HOST", nowhere()),
                ("LLAMA_ARG_HOST", host.to_owned()),
                ("LLAMA_ARG_PORT", port.to_owned()),
            ],
        }
    }

    fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.variables.retain(|(known, _)| *known != name);
        self.variables.push((name, value.into()));
        self
    }

    fn with_llama(self, server: &ScriptedModel) -> Self {
        let url = server.url();
        let (_, port) = url.rsplit_once(':').expect("a port");
        self.with("LLAMA_ARG_PORT", port)
    }

    fn get(&self, name: &str) -> Option<String> {
        let mut variables = self.variables.iter();
        variables.find_map(|(known, value)| (*known == name).then(|| value.clone()))
    }

    async fn choose(&self, asked: Option<&str>) -> Result<Choice, ChooseError> {
        choose(asked, None, &|name| self.get(name)).await
    }
}

fn serving(models: &[&str]) -> ScriptedModel {
    let server = ScriptedModel::new();
    server.list_models(models, "llamacpp");
    server
}

#[tokio::test]
async fn nothing_at_all_is_a_refusal_that_names_every_way() {
    let error = Environment::new().choose(None).await.expect_err("nothing");
    assert_eq!(error.code(), "no_model");
    let hint = error.hint();
    for way in [
        "--model",
        "OUTLAST_MODEL",
        "ANTHROPIC_API_KEY",
        "OPENAI_API_KEY",
        "GEMINI_API_KEY",
        "OPENAI_BASE_URL",
        "Ollama",
        "llama.cpp",
    ] {
        assert!(hint.contains(way), "{way}: {hint}");
    }
}

#[tokio::test]
async fn the_first_that_is_there_is_taken_in_their_order_and_said() {
    let anthropic = serving(&["claude-3", "claude-sonnet-5"]);
    let own = serving(&["own-model", "other"]);
    let gemini = serving(&["gemini-2.5-pro"]);
    let ollama = serving(&["qwen3:8b"]);
    let llama = serving(&["local.gguf"]);
    let ways: [Way<'_>; 5] = [
        (
            &[
                ("ANTHROPIC_API_KEY", "k".to_owned()),
                ("ANTHROPIC_BASE_URL", anthropic.url()),
            ],
            Provider::Anthropic,
            "claude-sonnet-5",
            "`ANTHROPIC_API_KEY` is set",
        ),
        (
            &[("OPENAI_BASE_URL", format!("{}/v1", own.url()))],
            Provider::Compatible,
            "own-model",
            "`OPENAI_BASE_URL` is set",
        ),
        (
            &[
                ("GEMINI_API_KEY", "k".to_owned()),
                ("GEMINI_BASE_URL", gemini.url()),
            ],
            Provider::Gemini,
            "gemini-2.5-pro",
            "`GEMINI_API_KEY` is set",
        ),
        (
            &[("OLLAMA_HOST", ollama.url())],
            Provider::Ollama,
            "qwen3:8b",
            "a server of ollama answers",
        ),
        (
            &[(
                "LLAMA_ARG_PORT",
                llama.url().rsplit(':').next().expect("a port").to_owned(),
            )],
            Provider::LlamaCpp,
            "local.gguf",
            "a server of llama.cpp answers",
        ),
    ];
    // With all of them set the first wins; without it the second, and so on.
    for from in 0..ways.len() {
        let mut environment = Environment::new();
        for (variables, ..) in &ways[from..] {
            for (name, value) in *variables {
                environment = environment.with(name, value.clone());
            }
        }
        let (_, provider, name, why) = &ways[from];
        let choice = environment.choose(None).await.expect(why);
        assert_eq!((choice.provider, choice.name.as_str()), (*provider, *name));
        assert!(choice.why.contains(why), "{}", choice.why);
    }
}

#[tokio::test]
async fn a_named_model_comes_before_the_variable_and_that_before_the_configuration() {
    let server = serving(&["one", "two", "three"]);
    let environment = |model: Option<&str>| {
        let environment = Environment::new().with("OPENAI_BASE_URL", server.url());
        match model {
            Some(model) => environment.with("OUTLAST_MODEL", model),
            None => environment,
        }
    };
    for (asked, variable, configured, name, why) in [
        (Some("one"), Some("two"), Some("three"), "one", "--model"),
        (
            Some(" "),
            Some("two"),
            Some("three"),
            "two",
            "OUTLAST_MODEL",
        ),
        (None, Some(""), Some("three"), "three", "configuration"),
    ] {
        let environment = environment(variable);
        let choice = choose(asked, configured, &|name| environment.get(name)).await;
        let choice = choice.expect(name);
        assert_eq!(choice.name, name);
        assert!(choice.why.contains(why), "{}", choice.why);
    }
}

#[tokio::test]
async fn forms_of_a_name_lead_to_their_provider() {
    let server = serving(&["m", "claude-m", "gemini-m", "gpt-m", "org/m", "m:8b"]);
    let vendors = Environment::new()
        .with("ANTHROPIC_BASE_URL", server.url())
        .with("GEMINI_BASE_URL", server.url())
        .with("ANTHROPIC_API_KEY", "k")
        .with("GEMINI_API_KEY", "k")
        .with("OLLAMA_HOST", server.url())
        .with_llama(&server);
    for (asked, provider, name) in [
        ("claude-m", Provider::Anthropic, "claude-m"),
        ("anthropic/m", Provider::Anthropic, "m"),
        ("gemini-m", Provider::Gemini, "gemini-m"),
        ("google/m", Provider::Gemini, "m"),
        ("ollama/m:8b", Provider::Ollama, "m:8b"),
        ("ollama", Provider::Ollama, "m"),
        ("llama.cpp/m", Provider::LlamaCpp, "m"),
        ("m:8b", Provider::Ollama, "m:8b"),
    ] {
        let choice = vendors.choose(Some(asked)).await.expect(asked);
        assert_eq!(
            (choice.provider, choice.name.as_str()),
            (provider, name),
            "{asked}"
        );
    }
    let gateway = Environment::new().with("OPENAI_BASE_URL", server.url());
    for (asked, name) in [
        ("gpt-m", "gpt-m"),
        ("openai/m", "m"),
        ("compatible/org/m", "org/m"),
        ("org/m", "org/m"),
        ("claude-m", "claude-m"),
        ("gemini-m", "gemini-m"),
    ] {
        let choice = gateway.choose(Some(asked)).await.expect(asked);
        assert_eq!(
            (choice.provider, choice.name.as_str()),
            (Provider::Compatible, name)
        );
    }
}

#[tokio::test]
async fn names_that_lead_nowhere_are_refused_with_the_next_step() {
    for (asked, code, word) in [
        ("claude-opus-5-5", "no_model_key", "ANTHROPIC_API_KEY"),
        ("gpt-6-sol", "no_model_key", "OPENAI_API_KEY"),
        ("gemini/any", "no_model_key", "GEMINI_API_KEY"),
        ("compatible/any", "no_model_address", "OPENAI_BASE_URL"),
        ("some-name", "unknown_model", "ollama/NAME"),
        ("ollama/any", "model_unreachable", "start the server"),
        ("llama.cpp/any", "model_unreachable", "start the server"),
    ] {
        let error = Environment::new().choose(Some(asked)).await;
        let error = error.expect_err(asked);
        assert_eq!(error.code(), code, "{asked}: {error}");
        assert!(error.hint().contains(word), "{asked}: {}", error.hint());
    }
}

#[tokio::test]
async fn a_model_that_the_list_lacks_is_refused_with_those_that_are_there() {
    let server = serving(&["qwen3:8b", "llama3:70b"]);
    let environment = Environment::new().with("OLLAMA_HOST", server.url());
    let error = environment.choose(Some("ollama/qwen3:14b")).await;
    let error = error.expect_err("it is not there");
    assert_eq!(error.code(), "model_not_found");
    assert_eq!(error.hint(), "it has `qwen3:8b`, `llama3:70b`");

    let none = serving(&[]);
    let environment = Environment::new().with("OLLAMA_HOST", none.url());
    let error = environment.choose(Some("ollama/qwen3")).await;
    assert_eq!(
        error.expect_err("nothing is there").code(),
        "model_not_found"
    );
    let error = environment.choose(None).await;
    assert_eq!(error.expect_err("nothing is there").code(), "no_model");
}

#[tokio::test]
async fn without_a_list_a_name_is_believed() {
    let hidden = ScriptedModel::new();
    hidden.hide_models();
    let page = ScriptedModel::new();
    page.page_for_models("text/html", "<h1>hello</h1>");
    for server in [hidden, page] {
        let environment = Environment::new().with("OPENAI_BASE_URL", server.url());
        let choice = environment
            .choose(Some("any"))
            .await
            .expect("it is believed");
        assert_eq!(
            (choice.provider, choice.name.as_str()),
            (Provider::Compatible, "any")
        );
        let error = environment.choose(None).await.expect_err("which one?");
        assert_eq!(error.code(), "model_not_found");
        assert!(error.hint().contains("--model"), "{}", error.hint());
        let vendor = Environment::new()
            .with("ANTHROPIC_API_KEY", "k")
            .with("ANTHROPIC_BASE_URL", server.url());
        let choice = vendor.choose(None).await.expect("the usual one");
        assert_eq!(choice.name, "claude-opus-5-5");
    }
}

#[tokio::test]
async fn another_program_on_the_port_of_a_llama_server_is_none() {
    let other = ScriptedModel::new();
    other.list_models(&["something"], "another program");
    let environment = Environment::new().with_llama(&other);
    let error = environment.choose(None).await.expect_err("no llama.cpp");
    assert_eq!(error.code(), "no_model");
}

#[tokio::test]
async fn a_choice_holds_no_key_and_the_key_is_found_again() {
    let server = serving(&["m"]);
    let environment = Environment::new()
        .with("OPENAI_BASE_URL", server.url())
        .with("OPENAI_API_KEY", "key-of-the-test");
    let choice = environment.choose(None).await.expect("a model");
    let written = serde_json::to_string(&choice).expect("JSON");
    assert!(!written.contains("key-of-the-test"), "{written}");
    assert!(key_of(&choice, &|name| environment.get(name)).is_some());
    assert_eq!(choice.base_url, Some(format!("{}/", server.url())));
}

#[tokio::test]
async fn a_server_says_how_much_its_window_holds() {
    let both = r#"{"data": [{"id": "m", "owned_by": "llamacpp"}],
        "default_generation_settings": {"n_ctx": 8192}}"#;
    let llama = ScriptedModel::new();
    llama.page_for_models("application/json", both);
    let environment = Environment::new().with_llama(&llama);
    for asked in [None, Some("llama.cpp"), Some("llama.cpp/m"), Some("m")] {
        let choice = environment.choose(asked).await.expect("a model");
        assert_eq!(context_tokens(&choice), 8_192, "{asked:?}");
    }

    let other = ScriptedModel::new();
    let list = r#"{"data": [{"id": "m", "max_model_len": 16384}]}"#;
    other.page_for_models("application/json", list);
    let environment = Environment::new().with("OPENAI_BASE_URL", other.url());
    let choice = environment.choose(None).await.expect("a model");
    assert_eq!(context_tokens(&choice), 16_384);

    let ollama = serving(&["m"]);
    let environment = Environment::new()
        .with("OLLAMA_HOST", ollama.url())
        .with("OLLAMA_CONTEXT_LENGTH", "65536");
    let choice = environment.choose(None).await.expect("a model");
    assert_eq!(context_tokens(&choice), 65_536);
}

#[tokio::test]
async fn a_list_of_several_pages_refuses_nothing() {
    let server = ScriptedModel::new();
    let page = r#"{"data": [{"id": "first"}], "has_more": true}"#;
    server.page_for_models("application/json", page);
    let environment = Environment::new().with("OPENAI_BASE_URL", server.url());
    let choice = environment.choose(Some("on-the-next-page")).await;
    assert_eq!(choice.expect("it is believed").name, "on-the-next-page");
}
