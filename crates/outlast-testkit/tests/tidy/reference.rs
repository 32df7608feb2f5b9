//! The reference names what the code has: every error code, limit, field of a
//! record, file of a store, key of the configuration, verb and option. The
//! other way round, its tables name no code, limit or key that is gone.

use std::{collections::BTreeSet, fs};

use crate::{assert_none, files_beneath, root, shown};

/// How the head of a function begins that gives the stable name of an error.
const CODE_HEADS: &[&str] = &[
    "fn code(&self) -> &'static str {",
    "fn code(self) -> &'static str {",
    "fn start_code(code: &str) -> &'static str {",
];

/// What stands before the stable name of an error that no such function gives.
const CODE_CALLS: &[&str] = &[
    "Failure::plain(",
    " failure(",
    "code: ",
    "Refusal::new(",
    "Refused::new(",
];

/// The parts of a record, by the file that declares them.
const RECORDS: &[(&str, &[&str])] = &[
    (
        "record.rs",
        &["Record", "OutputRecord", "LeftoverRecord", "Event"],
    ),
    ("gap.rs", &["Gap"]),
    ("approval.rs", &["NeedsApproval"]),
    ("event.rs", &["Usage", "Failure"]),
    ("spec.rs", &["Shell", "Origin", "Survives"]),
    ("posture.rs", &["Posture", "LimitBound"]),
];

fn source(path: &str) -> String {
    fs::read_to_string(root().join("crates").join(path)).unwrap()
}

fn page(name: &str) -> String {
    fs::read_to_string(root().join("docs/reference").join(name)).unwrap()
}

/// The sources of all crates, without their tests.
fn sources() -> Vec<(String, String)> {
    let files = files_beneath(&root().join("crates"), "rs").into_iter();
    let files = files.map(|file| (shown(&file), fs::read_to_string(file).unwrap()));
    let is_product = |name: &str| name.contains("/src/") && !name.contains("/tests");
    files.filter(|(name, _)| is_product(name)).collect()
}

/// What stands between the braces that `head` opens, each time that it occurs.
fn bodies<'a>(source: &'a str, head: &'a str) -> impl Iterator<Item = &'a str> {
    source.split(head).skip(1).map(|rest| {
        let mut depth = 1_usize;
        let end = rest.find(|letter| {
            match letter {
                '{' => depth += 1,
                '}' => depth -= 1,
                _ => {}
            }
            depth == 0
        });
        rest.get(..end.unwrap_or(rest.len())).unwrap()
    })
}

/// The texts in double quotes.
fn literals(code: &str) -> impl Iterator<Item = &str> {
    code.split('"').skip(1).step_by(2)
}

fn is_code(text: &str) -> bool {
    let is_ours = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    text.starts_with(|letter: char| letter.is_ascii_lowercase()) && text.bytes().all(is_ours)
}

/// The stable names of errors that a source gives.
fn codes(source: &str) -> BTreeSet<&str> {
    let returned = CODE_HEADS
        .iter()
        .flat_map(|head| bodies(source, head))
        .flat_map(literals);
    let called = CODE_CALLS
        .iter()
        .flat_map(|call| source.split(call).skip(1))
        .filter_map(|rest| rest.trim_start().strip_prefix('"')?.split('"').next());
    returned
        .chain(called)
        .filter(|text| is_code(text))
        .collect()
}

/// The public fields of a struct.
fn fields<'a>(source: &'a str, name: &str) -> Vec<&'a str> {
    let head = format!("pub struct {name} {{");
    let (_, rest) = source.split_once(&head).unwrap();
    let (body, _) = rest.split_once("\n}").unwrap();
    let lines = body.lines().filter_map(|line| {
        let (field, _) = line.trim().strip_prefix("pub ")?.split_once(": ")?;
        Some(field)
    });
    lines.collect()
}

/// The public constants of a source, by name and value.
fn constants(source: &str) -> impl Iterator<Item = (&str, &str)> {
    source.lines().filter_map(|line| {
        let (name, rest) = line.strip_prefix("pub const ")?.split_once(": ")?;
        let (_, value) = rest.split_once(" = ")?;
        Some((name, value.trim_end_matches(';').trim_matches('"')))
    })
}

/// What stands in backticks at the beginning of a row.
fn rows(page: &str) -> impl Iterator<Item = &str> {
    page.lines()
        .filter_map(|line| line.strip_prefix("| `")?.split('`').next())
}

/// Fails with every name that the page does not have in backticks.
#[track_caller]
fn assert_named(page_name: &str, names: &[&str]) {
    let text = page(page_name);
    let is_missing = |name: &&&str| !text.contains(&format!("`{name}`"));
    let missing = names.iter().filter(is_missing);
    let faults: Vec<_> = missing
        .map(|name| format!("docs/reference/{page_name}: no `{name}`"))
        .collect();
    assert_none(&faults);
}

/// Fails with every first cell of the page's tables that is none of `known`.
#[track_caller]
fn assert_known(page_name: &str, known: &BTreeSet<&str>) {
    let text = page(page_name);
    let unknown = rows(&text).filter(|name| !known.contains(name));
    let faults: Vec<_> = unknown
        .map(|name| format!("docs/reference/{page_name}: `{name}` is not in the code"))
        .collect();
    assert_none(&faults);
}

#[test]
fn every_error_code_has_its_row_and_every_row_its_code() {
    let sources = sources();
    let known: BTreeSet<&str> = sources.iter().flat_map(|(_, text)| codes(text)).collect();
    let page = page("errors.md");
    let rows: BTreeSet<&str> = rows(&page).collect();
    let missing = known.difference(&rows);
    let missing = missing.map(|code| format!("docs/reference/errors.md: no row for `{code}`"));
    assert_none(&missing.collect::<Vec<_>>());
    assert_known("errors.md", &known);
}

#[test]
fn every_limit_has_its_row_and_every_row_its_limit() {
    let source = source("outlast-journal/src/limits.rs");
    let of_tools = self::source("outlast-journal/src/limits/tools.rs");
    let constants = constants(&source).chain(constants(&of_tools));
    let constants = constants.map(|(name, _)| name);
    let known: BTreeSet<&str> = constants.chain(fields(&source, "Limits")).collect();
    assert!(known.len() > 9);
    assert_named("limits.md", &known.iter().copied().collect::<Vec<_>>());
    assert_known("limits.md", &known);
}

#[test]
fn every_field_of_a_record_is_explained() {
    for (file, names) in RECORDS {
        let source = source(&format!("outlast-journal/src/{file}"));
        for name in *names {
            let fields = fields(&source, name);
            assert!(!fields.is_empty(), "{name}");
            let written = fields.into_iter().map(|field| match (*name, field) {
                ("Event", "kind") => "type",
                (_, field) => field,
            });
            assert_named("records.md", &written.collect::<Vec<_>>());
        }
    }
}

/// Names of the parts of a record in the description of the API, where they are others.
const DESCRIBED_AS: &[(&str, &str)] = &[
    ("Record", "Run"),
    ("OutputRecord", "Output"),
    ("LeftoverRecord", "Leftover"),
];

#[test]
fn the_api_describes_the_fields_of_a_record_and_no_others() {
    let description = page("openapi.json");
    let description: serde_json::Value = serde_json::from_str(&description).unwrap();
    for (file, names) in RECORDS {
        let source = source(&format!("outlast-journal/src/{file}"));
        for name in *names {
            let other = DESCRIBED_AS.iter().find(|(known, _)| known == name);
            let schema = other.map_or(*name, |(_, schema)| schema);
            let known = &description["components"]["schemas"][schema]["properties"];
            let known = known
                .as_object()
                .unwrap_or_else(|| panic!("no schema {schema}"));
            let known: BTreeSet<&str> = known.keys().map(String::as_str).collect();
            let fields = fields(&source, name).into_iter();
            let fields = fields.map(|field| match (*name, field) {
                ("Event", "kind") => "type",
                (_, field) => field,
            });
            assert_eq!(known, fields.collect(), "{name}");
        }
    }
}

#[test]
fn every_file_of_a_store_is_explained() {
    let source = source("outlast-journal/src/names.rs");
    let names: Vec<_> = constants(&source).map(|(_, value)| value).collect();
    assert!(!names.is_empty());
    assert_named("store.md", &names);
}

/// The keys that a source of a table of its own lists.
fn keys_of(path: &str) -> Vec<String> {
    let source = source(path);
    let keys = source.split_once("pub(crate) const KEYS");
    let keys = keys.and_then(|(_, rest)| rest.split_once(']')?.1.split_once(']'));
    let keys = keys.map(|(keys, _)| keys);
    let keys = keys.expect("the keys of the table").split('"').skip(1);
    keys.step_by(2).map(str::to_owned).collect()
}

#[test]
fn every_key_of_the_configuration_is_explained() {
    let source = source("outlast/src/config.rs");
    let names = source.lines().filter_map(|line| {
        let rest = line.trim().strip_prefix("name: \"")?;
        rest.split('"').next()
    });
    let names: BTreeSet<&str> = names.collect();
    assert_eq!(
        names.len(),
        fields(&self::source("outlast-journal/src/limits.rs"), "Limits").len()
    );
    let keys = [
        "outlast/src/policy/rules.rs",
        "outlast/src/sandbox.rs",
        "outlast/src/config/agent.rs",
    ]
    .map(keys_of);
    let names: BTreeSet<&str> = names
        .into_iter()
        .chain(keys.iter().flatten().map(String::as_str))
        .collect();
    assert_named(
        "configuration.md",
        &names.iter().copied().collect::<Vec<_>>(),
    );
    assert_known("configuration.md", &names);
}

/// The long options that a source declares for clap.
fn options(source: &str) -> impl Iterator<Item = String> {
    source.split("#[arg(").skip(1).filter_map(|rest| {
        let (attribute, rest) = rest.split_once(")]")?;
        if let Some((_, rest)) = attribute.split_once("long = \"") {
            return Some(format!("--{}", rest.split('"').next()?));
        }
        let is_long = attribute.split(',').any(|part| part.trim() == "long");
        let (_, field) = rest.split_once("pub(crate) ")?;
        let (field, _) = field.split_once(':')?;
        is_long.then(|| format!("--{}", field.replace('_', "-")))
    })
}

#[test]
fn every_verb_and_option_is_explained() {
    let program = source("outlast/src/cli.rs");
    let verbs = bodies(&program, "pub(crate) enum Verb {").flat_map(str::lines);
    let verbs = verbs.filter_map(|line| line.trim().split_once('('));
    let verbs: Vec<_> = verbs.map(|(verb, _)| verb.to_lowercase()).collect();
    assert!(verbs.len() > 9);
    let page = page("command-line.md");
    let headings: Vec<_> = page
        .lines()
        .filter_map(|line| line.strip_prefix("## "))
        .flat_map(|heading| heading.split(", "))
        .collect();
    let verbs = verbs.iter();
    let no_heading = verbs.filter(|verb| !headings.contains(&verb.as_str()));

    let parts = [
        "outlast/src/cli/run.rs",
        "outlast/src/cli/look.rs",
        "outlast/src/cli/agent.rs",
    ]
    .map(source);
    let options: BTreeSet<_> = parts
        .iter()
        .chain([&program])
        .flat_map(|part| options(part))
        .collect();
    let is_missing = |option: &&String| {
        let ends = ['`', ' ', '['].map(|end| format!("`{option}{end}"));
        !ends.iter().any(|written| page.contains(written))
    };
    let no_row = options.iter().filter(is_missing);
    let faults = no_heading.chain(no_row);
    let faults = faults.map(|name| format!("docs/reference/command-line.md: no `{name}`"));
    assert_none(&faults.collect::<Vec<_>>());
}

#[test]
fn options_are_found_by_their_field_or_their_name() {
    let source = r#"
        #[arg(short = 'n', value_name = "N")]
        pub(crate) lines: Option<usize>,
        #[arg(short = 'f', long, value_parser = f(x))]
        pub(crate) dry_run: bool,
        #[arg(
            long = "queue",
            conflicts_with_all = ["raw"])]
        #[expect(clippy::option_option)]
        pub(crate) queue_ms: u8,
    "#;
    let found: Vec<_> = options(source).collect();
    assert_eq!(found, ["--dry-run", "--queue"]);
}

#[test]
fn codes_are_found_where_they_are_given() {
    let source = r#"
        fn code(&self) -> &'static str {
            match self {
                Self::A { .. } => "first_code",
                Self::B(error) => error.code(),
            }
        }
        fn hint(&self) -> String { "no_code".into() }
        fn f() { Failure::plain(
            "second_code", "some words".into()) }
        fn code(self) -> Option<&'static str> { Some("colour") }
    "#;
    let found: Vec<_> = codes(source).into_iter().collect();
    assert_eq!(found, ["first_code", "second_code"]);
}

#[test]
fn fields_and_constants_are_found() {
    let source = "pub const A_MS: u64 = 5;\nconst B: u8 = 1;\npub const F: &str = \"file\";\n\
        pub struct S {\n    /// Words: more.\n    pub one: u8,\n    two: u8,\n}\n";
    assert_eq!(fields(source, "S"), ["one"]);
    let found: Vec<_> = constants(source).collect();
    assert_eq!(found, [("A_MS", "5"), ("F", "file")]);
}
