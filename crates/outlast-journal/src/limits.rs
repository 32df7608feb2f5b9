//! Every limit, each with its unit in its name and a line on why this number.

mod tools;

pub use tools::*;

/// Bytes in a mebibyte.
const MIB: u64 = 1 << 20;

/// Limits that a user may set. The rest of this module is fixed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Runs of one session executing at once: what a person can still follow.
    pub session_runs_max: u32,
    /// Runs of one store executing at once: half of a usual `nofile` of 4,096 for their watchers.
    pub store_runs_max: u32,
    /// Agent runs of one store executing at once: models are rate-limited long before.
    pub agent_runs_max: u32,
    /// How deep commands may start runs inside runs; a root has depth 0.
    pub command_depth_max: u32,
    /// How deep agents may start agents; a root has depth 0. Deeper ones are a loop of models.
    pub agent_depth_max: u32,
    /// Descendants that one root may start: a fan-out this wide is a loop.
    pub descendants_max: u32,
    /// Output kept per run, in bytes.
    pub output_bytes_max: u64,
    /// Time between TERM and KILL, in milliseconds.
    pub grace_ms: u64,
    /// Time limit of runs that a background tool starts, in milliseconds; 0 is none.
    pub tool_timeout_ms: u64,
    /// Days after which an ended run is removed: a month of looking back.
    pub retention_days: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            session_runs_max: 8,
            store_runs_max: 1_024,
            agent_runs_max: 8,
            command_depth_max: 3,
            agent_depth_max: 1,
            descendants_max: 50,
            output_bytes_max: 64 * MIB,
            grace_ms: 5_000,
            tool_timeout_ms: 30 * 60 * 1_000,
            retention_days: 30,
        }
    }
}

/// Longest time limit, in milliseconds: 30 days; longer ones are clamped and said.
pub const TIMEOUT_MS_MAX: u64 = 30 * 24 * 3_600 * 1_000;
/// Longest grace, in milliseconds: an hour is longer than any orderly stop.
pub const GRACE_MS_MAX: u64 = 3_600 * 1_000;
/// Least output kept, in bytes: below it head and tail have no room.
pub const OUTPUT_BYTES_MIN: u64 = 16 << 10;
/// Most output kept, in bytes: 1 TiB, so that sums of offsets stay far from their type's end.
pub const OUTPUT_BYTES_MAX: u64 = 1 << 40;
/// Label made from a command or task, in characters.
pub const LABEL_CHARS: usize = 60;
/// Label that was given, in characters.
pub const LABEL_GIVEN_CHARS: usize = 200;
/// Summary line, in characters.
pub const SUMMARY_CHARS: usize = 200;
/// Command text, in bytes: 4 MiB.
pub const COMMAND_BYTES_MAX: usize = 4 << 20;
/// Task of an agent run, in bytes: what fits into a model's window beside its work.
pub const TASK_BYTES_MAX: usize = 256 << 10;
/// One argument, in bytes, without its NUL: the kernel's `MAX_ARG_STRLEN` less one.
pub const ARGUMENT_BYTES_MAX: usize = 131_071;
/// Command text kept in the spec, in bytes; more stands in a file of its own.
pub const COMMAND_SPEC_BYTES_MAX: usize = 64 << 10;
/// Session name and idempotency key, in bytes: a file name and a row must hold them.
pub const NAME_BYTES_MAX: usize = 512;
/// Environment handed to a run, in bytes: the kernel refuses more than a quarter of an 8 MiB stack.
pub const ENVIRONMENT_BYTES_MAX: usize = 2 << 20;
/// Events kept for a poll, newest.
pub const POLL_EVENTS_MAX: usize = 2_000;
/// Output in one answer of the Rust capability, in bytes.
pub const OUTPUT_ANSWER_BYTES: usize = 16 << 10;
/// Raw bytes that one text view looks at: bounds the time of one answer.
pub const VIEW_SCAN_BYTES_MAX: u64 = 4 << 20;
/// Matches that one pattern view gives back.
pub const GREP_MATCHES_MAX: usize = 10_000;
/// Journal space reserved, in bytes, so that the end can be written on a full disk.
pub const JOURNAL_RESERVE_BYTES: u64 = 16 << 10;
/// Leftovers, runs inside and unkillable processes named in an end record, of each. Keeps the
/// end within its reserve: 24 × (120 characters of 4 bytes + 60) is under 13 KiB.
pub const LEFTOVERS_NAMED_MAX: usize = 24;
/// Command of a leftover, in characters.
pub const LEFTOVER_COMMAND_CHARS: usize = 120;
/// One control message, in bytes: a label, a grace and words.
pub const CONTROL_LINE_BYTES_MAX: usize = 4 << 10;
/// Bytes for stdin in one control message: a quarter of a pipe.
pub const SEND_BYTES_MAX: usize = 16 << 10;
/// Connections that one supervisor serves at once; more are closed at once.
pub const CONNECTIONS_MAX: usize = 128;
/// Subscribers among them, so that those who cancel or send always find room.
pub const SUBSCRIBERS_MAX: usize = 112;
/// How often a reader looks itself for whom a supervisor has no room, in milliseconds.
pub const CROWDED_LOOK_MS: u64 = 1_000;
/// Buffer between the output pipe and the log, in bytes, on the stack.
pub const PIPE_BUFFER_BYTES: usize = 16 << 10;
/// Least time between two hints that output came, in milliseconds: 25 a second look live.
pub const OUTPUT_HINT_MS: u64 = 40;
/// After KILL, how long the tree may take before the end names what cannot be killed, in ms.
pub const UNKILLABLE_MS: u64 = 10_000;
/// Slowest pace of the kill loop, in milliseconds.
pub const KILL_BACKOFF_MS_MAX: u64 = 100;
/// How long nested supervisors may outlast the KILL of the rest of the tree, in ms.
pub const NESTED_EXTRA_MS: u64 = 5_000;
/// A nested run is asked with the outer grace less this, in milliseconds.
pub const NESTED_GRACE_LESS_MS: u64 = 1_000;
/// How long a start waits for its supervisor's answer, in milliseconds.
pub const START_ANSWER_MS: u64 = 30_000;
/// How long a start waits for a run with the same key that is being born, in milliseconds.
pub const KEY_BIRTH_MS: u64 = 10_000;
/// How long one `send` waits for the run to read, in milliseconds.
pub const SEND_WAIT_MS: u64 = 5_000;
/// How often a queued run looks at its places itself, in milliseconds, beside being told.
pub const QUEUE_LOOK_MS: u64 = 1_000;
/// An untold end is kept at least this long after it, in milliseconds: seven days.
pub const UNTOLD_KEEP_MS: u64 = 7 * 24 * 3_600 * 1_000;
/// Processes that a walk up from a caller looks at: more than any real chain of parents.
pub const ANCESTORS_MAX: usize = 256;
/// Shortest value that is masked as a secret, in bytes: shorter ones occur in plain text.
pub const SECRET_BYTES_MIN: usize = 8;
/// Longest value that is masked as a secret, in bytes: keys are shorter, and pages look this far.
pub const SECRET_BYTES_MAX: usize = 4_096;
/// Ignored signals that one journal tells of: a run may not fill it with them.
pub const IGNORED_SIGNALS_NOTED_MAX: u32 = 16;
/// Holders of places that a queued run listens to at once; its own look catches the rest.
pub const QUEUE_HOLDERS_MAX: usize = 64;
/// How long the journal may stay unsynced after the start, in milliseconds, while work goes on.
pub const SYNC_AFTER_MS: u64 = 20;
/// Parts of the output cap that may be on disk beyond it: the middle is freed in steps this big.
pub const CAP_SLACK_PARTS: u64 = 32;
/// Longest escape sequence that a cut keeps whole, in bytes: titles and links are shorter.
pub const ESCAPE_BYTES_MAX: usize = 512;
/// Raw output that a text view reads at first, in bytes; it reads more when that does not do.
pub const VIEW_BLOCK_BYTES: u64 = 64 << 10;
/// Raw output that a copy or a search reads at a time, in bytes; a search cuts longer lines here.
pub const SCAN_BLOCK_BYTES: u64 = 256 << 10;
/// Raw output that one search looks through, in bytes: a few seconds' work.
pub const GREP_SCAN_BYTES_MAX: u64 = 1 << 30;
/// Bytes at the end of a log in which the newest line is looked for: one page.
pub const LAST_LINE_BYTES: u64 = 4 << 10;
/// Runs that are named when what was typed means several: more than anybody reads.
pub const FIND_CANDIDATES_MAX: usize = 20;
/// What was left half made or half removed is debris after this long, in milliseconds: an hour.
pub const DEBRIS_AGE_MS: u64 = 3_600 * 1_000;
/// How long a statement of the index waits for another process's, in milliseconds.
pub const INDEX_BUSY_MS: u64 = 3_000;
/// Tries to have an index that many make at once keep its log: each waits for another maker.
pub const INDEX_LOG_TRIES_MAX: u32 = 8;
/// Damaged indices that are kept for a look; the last one is replaced then.
pub const DAMAGED_INDICES_MAX: u32 = 9;
/// Buffer for a run that writes much, in bytes: large enough to be given back at once.
pub const PIPE_BULK_BYTES: usize = 128 << 10;
/// What the output pipe of such a run may hold, in bytes: two buffers.
pub const PIPE_WIDE_BYTES: usize = 256 << 10;
/// Output in one answer of a tool, in bytes: a host cuts at about 12,000 characters, unasked.
pub const TOOL_OUTPUT_BYTES: usize = 8 << 10;
/// Most output, or list, in one answer of a tool, in bytes: more fills a model's window.
pub const TOOL_OUTPUT_BYTES_MAX: usize = 32 << 10;
/// Lines around each match in an answer of a tool: more is a page, not a context.
pub const TOOL_CONTEXT_LINES_MAX: u64 = 20;
/// Runs in one list of a tool.
pub const TOOL_LIST_RUNS: u64 = 20;
/// Most runs in one list of a tool.
pub const TOOL_LIST_RUNS_MAX: u64 = 100;
/// Wait of one tool call, in seconds, and its longest for an unknown host: some give up at 60.
pub const TOOL_WAIT_SECS: u64 = 45;
/// Longest wait of one tool call of opencode, in seconds: it gives up at 60.
pub const TOOL_WAIT_SECS_OPENCODE: u64 = 50;
/// Longest wait of one tool call of Codex, in seconds: it gives up at 300.
pub const TOOL_WAIT_SECS_CODEX: u64 = 280;
/// Longest wait of one tool call of a host that is known to wait longer, in seconds.
pub const TOOL_WAIT_SECS_PATIENT: u64 = 300;
/// Tool calls of one server that wait at once; more wait for a place. Each holds a thread.
pub const TOOL_WAITS_MAX: usize = 256;
/// Ended runs that one answer of a tool names beside what was asked.
pub const TOOL_ENDED_UNSEEN_MAX: usize = 3;
/// Lines of instructions that a server gives its host: more is not read.
pub const TOOL_INSTRUCTION_LINES_MAX: usize = 6;
/// How long answers may still go out once the host has left, in milliseconds: under a second.
pub const TOOL_LEAVE_MS: u64 = 600;
/// How long a call that is half done may then take, in milliseconds.
pub const TOOL_LAST_CALLS_MS: u64 = 200;
/// Least time after which a run is worth another look, in milliseconds: models cost more than this.
pub const POLL_AFTER_MS: u64 = 2_000;
/// Most time after which it is, in milliseconds: an end is then told within a quarter of a minute.
pub const POLL_AFTER_MS_MAX: u64 = 15_000;
/// Part of the time for which nothing changed after which it is: a minute of quiet is the most.
pub const POLL_QUIET_PARTS: u64 = 4;
/// Least time between two progress notices of one call, in milliseconds: six a minute look alive.
pub const PROGRESS_MS: u64 = 10_000;
/// Resources that one server watches at once. Each holds a thread.
pub const WATCHES_MAX: usize = 32;
/// Least time between two notices about one resource, in milliseconds: nobody reads it sooner.
pub const WATCH_PAUSE_MS: u32 = 500;
/// How long a host may take to name its roots, in milliseconds: it has them at hand.
pub const ROOTS_MS: u64 = 2_000;
/// Roots of a host that are looked at: more than a person opens.
pub const ROOTS_MAX: usize = 32;
/// How long a launcher may take until the command executes, in milliseconds: a mount of a slow
/// network file system included.
pub const CONTAIN_SETUP_MS: u64 = 10_000;
/// How long an engine may take until a container runs, in milliseconds: below the wait of a start.
pub const ENGINE_SETUP_MS: u64 = 20_000;
/// How long an engine may take over one request, in milliseconds.
pub const ENGINE_ANSWER_MS: u64 = 8_000;
/// How long an engine that went away in the middle of a run may stay away, in milliseconds.
pub const ENGINE_AWAY_MS: u64 = 5_000;
/// What of an engine's words is shown, in characters.
pub const ENGINE_WORDS_CHARS: usize = 300;
/// How long a cancel or `gc` waits for one engine that may have a container of a dead run, in
/// milliseconds: it has stopped one by then, and who waits is a person.
pub const ENGINE_CLEAR_MS: u64 = 5_000;
/// What of an engine's list of containers is read, in bytes: that of thousands.
pub const ENGINE_LIST_BYTES: usize = 8 << 20;
/// Containers that one look for those of dead runs removes at most.
pub const ENGINE_SWEEP_MAX: usize = 32;
/// Room in each private directory for temporary files of a contained run, in bytes of memory.
pub const CONTAINED_TEMPORARY_BYTES: u64 = 1 << 30;
/// Directories of a workspace that are looked through for repositories: a few milliseconds.
pub const PROTECTED_DIRS_MAX: usize = 5_000;
/// How deep below a workspace repositories are looked for.
pub const PROTECTED_DEPTH_MAX: usize = 5;
/// Repositories below a workspace that are protected: each is a few mounts.
pub const PROTECTED_REPOSITORIES_MAX: usize = 32;
/// Connections that one HTTP server serves at once; more are told so and closed.
pub const HTTP_CONNECTIONS_MAX: usize = 256;
/// Connections over the limit that are told so at once; more are closed without a word.
pub const HTTP_REFUSALS_MAX: usize = 64;
/// Requests of one HTTP server that only look, answered at once: a disk does no more.
pub const HTTP_LOOKS_MAX: usize = 16;
/// Body of one HTTP request, in bytes: a command text of 4 MiB does not fit, a script does.
pub const HTTP_BODY_BYTES_MAX: usize = 4 << 20;
/// Bodies that one HTTP server holds at once, in bytes; more wait to be read.
pub const HTTP_BODIES_BYTES_MAX: usize = 16 << 20;
/// Head of one HTTP request, in bytes: browsers and hosts send a few hundred.
pub const HTTP_HEAD_BYTES_MAX: usize = 64 << 10;
/// How long an HTTP client may take to send a head, or stay idle before one, in milliseconds.
pub const HTTP_HEAD_MS: u64 = 10_000;
/// How long an HTTP client may take to send a body, in milliseconds: 4 MiB on a slow line.
pub const HTTP_BODY_MS: u64 = 20_000;
/// How long an HTTP client may leave an answer unread, in milliseconds.
pub const HTTP_WRITE_MS: u64 = 10_000;
/// How often an HTTP stream shows that it is alive, in milliseconds: proxies give up after 30 s.
pub const HTTP_ALIVE_MS: u64 = 15_000;
/// How long an HTTP server that is told to stop finishes answers, in milliseconds.
pub const HTTP_LEAVE_MS: u64 = 3_000;
/// Longest wait of one HTTP request, in seconds: many clients give up after 300.
pub const HTTP_WAIT_SECS_MAX: u64 = 280;
/// Most output in one HTTP answer, in bytes.
pub const HTTP_OUTPUT_BYTES_MAX: u64 = 1 << 20;
/// Runs in one list over HTTP.
pub const HTTP_LIST_RUNS: u64 = 50;
/// Most runs in one list over HTTP: a list is about a kilobyte a run.
pub const HTTP_LIST_RUNS_MAX: u64 = 1_000;
/// Descriptors that an HTTP server asks for: a connection that waits for a run needs six.
pub const HTTP_FILES_MAX: u64 = 4_096;
/// The rules file of a project, in bytes: more is no list that a person keeps.
pub const PROJECT_FILE_BYTES_MAX: u64 = 64 << 10;
/// Patterns in one list of rules.
pub const PATTERNS_MAX: usize = 256;
/// One pattern, in characters: bounds the time of a match with a text of 4 MiB.
pub const PATTERN_CHARS_MAX: usize = 256;
/// Patterns that a refusal names: enough to see what would do.
pub const PATTERNS_NAMED_MAX: usize = 8;
/// What is read of one file of git, in bytes: of a configuration, its beginning.
pub const GIT_FILE_BYTES_MAX: u64 = 64 << 10;
/// How often memory is looked at where no cgroup bounds it, in milliseconds: a few percent of a
/// processor at most.
pub const MEMORY_LOOK_MS: u64 = 200;
/// Least memory that a contained run may be bound to, in bytes: below it nothing starts.
pub const CONTAINED_MEMORY_BYTES_MIN: u64 = 16 << 20;
/// One message of a host, in bytes: a command of 4 MiB whose every second character is escaped.
pub const FRAME_BYTES_MAX: usize = 8 << 20;
/// How deep lists and objects may stand in a message of a host: tools know three.
pub const FRAME_DEPTH_MAX: usize = 100;
/// Values in one message of a host: bounds what it becomes in memory, about 100 bytes each.
pub const FRAME_VALUES_MAX: usize = 65_536;
/// Requests of one host that are worked on at once, in bytes of their messages: 1,024 small ones.
pub const REQUESTS_BYTES_MAX: usize = 32 << 20;
/// What one request counts for at least, in bytes.
pub const REQUEST_BYTES_MIN: usize = 32 << 10;
/// How long a request waits for room, in milliseconds; then it is told that there is none.
pub const REQUEST_ROOM_MS: u64 = 1_000;
/// Answers that wait for a host to read them, in bytes; beyond it the host is not read either.
pub const UNREAD_BYTES_MAX: usize = 1 << 20;
/// Connections of one contained run to allowed hosts at once; more are closed at once.
pub const FORWARDED_MAX: usize = 128;
/// Head of a request to an allowed host, in bytes: a line and a few fields.
pub const FORWARD_HEAD_BYTES_MAX: usize = 16 << 10;
/// How long such a head may take, in milliseconds.
pub const FORWARD_HEAD_MS: u64 = 10_000;
/// An empty cgroup that a killed supervisor left is removed after this long, in milliseconds.
pub const EMPTY_CGROUP_MS: u64 = 60_000;
/// Turns of an agent run, unless it says otherwise.
pub const TURNS: u64 = 50;
/// Turns of an agent run, at most.
pub const TURNS_MAX: u64 = 200;
/// Checks of a goal.
pub const GOAL_CHECKS_MAX: u64 = 10;
/// One check of a goal, in milliseconds.
pub const GOAL_CHECK_MS: u64 = 600_000;
/// One shell call of an agent unless it asks for another time, in milliseconds.
pub const CALL_MS: u64 = 600_000;
/// How long an ask stays open, in milliseconds; then it counts as denied.
pub const ASK_MS: u64 = 3_600_000;
/// Idle budget of a run started by `assistant_start`, in milliseconds.
pub const AGENT_IDLE_MS: u64 = 3_600_000;
/// Workers of one run within [`WORKERS_WITHIN_MS`], the first one apart.
pub const WORKER_RESTARTS_MAX: usize = 5;
/// The time within which restarts of a worker are counted, in milliseconds.
pub const WORKERS_WITHIN_MS: u64 = 600_000;
/// One line between worker and supervisor, in bytes: a model's whole answer, or a file to write.
pub const WORKER_LINE_BYTES_MAX: usize = 8 << 20;
/// Output kept of one call, in bytes.
pub const CALL_OUTPUT_BYTES_MAX: u64 = 16 << 20;
/// How long a worker may take to leave after a cancel, in milliseconds: one request to a model
/// with all its retries.
pub const AGENT_CANCEL_MS: u64 = 600_000;
/// What is shown of a call to a model, in bytes: head and tail of its output.
pub const CALL_SHOWN_BYTES: usize = 16 << 10;
/// The newest part of a check's output that a model is told, in bytes.
pub const GOAL_SHOWN_BYTES: usize = 8 << 10;
/// A call in a receipt, in characters.
pub const BRIEF_CHARS: usize = 160;
/// Receipts in a document.
pub const RECEIPTS_SHOWN_MAX: usize = 8;
/// Summary in a document, in bytes.
pub const DOCUMENT_SUMMARY_BYTES: usize = 4_096;
/// Events of one poll, in bytes, unless it says otherwise.
pub const POLL_BYTES: usize = 8 << 10;
/// Events of one poll, in bytes, at most.
pub const POLL_BYTES_MAX: usize = 16 << 10;
/// One answer of a poll with a result and the default of events, in bytes: a host cuts at about
/// 12,000 characters, unasked.
pub const POLL_ANSWER_BYTES: usize = 11 << 10;
/// Events of a poll whose result leaves no room for more, in bytes: one, cut.
pub const POLL_BYTES_MIN: usize = 1 << 10;
/// Runs that one agent run goes on with, one before the other: more is a loop.
pub const RESUMES_MAX: usize = 64;
/// The end of a journal that is read first for its newest events, in bytes.
pub const EVENTS_BLOCK_BYTES: u64 = 256 << 10;
/// How long a connection to a model's server may take, in milliseconds.
pub const MODEL_CONNECT_MS: u64 = 10_000;
/// How long the head of a model's answer may take, in milliseconds: a local server loads the
/// model and reads the conversation before it.
pub const MODEL_HEADERS_MS: u64 = 300_000;
/// How long a model's answer may pause, in milliseconds: some reason for minutes without a word.
pub const MODEL_STALL_MS: u64 = 300_000;
/// How long one answer of a model may take, in milliseconds: an hour, whatever it sends.
pub const MODEL_ANSWER_MS: u64 = 3_600_000;
/// One answer of a model, in bytes of its events: a hundred times the longest useful one.
pub const MODEL_ANSWER_BYTES_MAX: usize = 64 << 20;
/// Attempts at one turn of a model: with their pauses about seven minutes, a long outage.
pub const MODEL_ATTEMPTS_MAX: u32 = 24;
/// Answers in a row without a single event of a model that are taken for no model: a page, or a
/// proxy that swallows the rest.
pub const MODEL_EMPTY_ANSWERS_MAX: u32 = 3;
/// Time from the first failure of a turn to the beginning of the last attempt, in milliseconds.
pub const MODEL_RETRY_MS_MAX: u64 = 600_000;
/// Pause after the first failed attempt, in milliseconds; each further one is twice as long.
pub const MODEL_PAUSE_MS: u64 = 500;
/// Longest pause between attempts that the provider does not ask for, in milliseconds.
pub const MODEL_PAUSE_MS_MAX: u64 = 30_000;
/// What of a provider's words is shown, in characters.
pub const MODEL_WORDS_CHARS: usize = 300;
/// What is kept of arguments that are no object, in characters: enough to see what went wrong.
pub const MALFORMED_ARGUMENTS_CHARS: usize = 4_000;
/// How long a server may take to list its models, in milliseconds, before it is believed.
pub const MODEL_LIST_MS: u64 = 2_000;
/// How long a server of this machine may take to answer a look for it, in milliseconds.
pub const MODEL_LOOK_MS: u64 = 500;
/// A list of models, in bytes: providers with hundreds of models stay below.
pub const MODEL_LIST_BYTES_MAX: usize = 4 << 20;
/// Models that a refusal names.
pub const MODELS_NAMED_MAX: usize = 8;
/// Label in a narration of a tool call, in characters: one line of a narrow screen.
pub const NARRATION_CHARS: usize = 48;
/// Id in a narration of a tool call, in characters: a whole id, or a short label.
pub const NARRATION_ID_CHARS: usize = 24;
/// Runs that the prompt block of the capability lists: more is a call of `background_list`.
pub const PROMPT_RUNS: usize = 10;
/// Runs that `/background` lists: more than a screen.
pub const COMMAND_RUNS: usize = 100;
/// Ends that are handed to a host at once: a wake names them all.
pub const FINISHED_MAX: usize = 64;
/// Least time between two looks at a session, for its counts or for an end, when only others
/// do something, in milliseconds: four a second look live.
pub const COUNTS_PAUSE_MS: u64 = 250;
/// Runs of a session that are listened to for its counts: each is a descriptor.
pub const COUNTS_LISTENED_MAX: usize = 64;
/// Malformed calls in a row that end an agent run: a model that cannot write one tries for ever.
pub const MALFORMED_CALLS_MAX: u64 = 3;
/// Equal calls with equal results that put a warning into the result; one more ends the run.
pub const REPEATED_CALLS_MAX: usize = 3;
/// The same for equal writes that fail: the model has misread the file.
pub const REPEATED_FAILED_WRITES_MAX: usize = 2;
/// Claims without a receipt that a document names.
pub const CLAIMS_NAMED_MAX: usize = 8;
/// One such claim, in characters.
pub const CLAIM_CHARS: usize = 160;
/// Ends of background runs that a model is told at once.
pub const OWN_ENDS_MAX: usize = 16;
/// Equal failures of a goal's check in a row that end an agent run.
pub const GOAL_EQUAL_FAILURES_MAX: u64 = 3;
/// Times that a model is told that its answer does not keep the schema.
pub const ANSWER_REPAIRS_MAX: u64 = 2;
/// Times that a model is told that its message was cut.
pub const ANSWER_CUTS_MAX: u64 = 2;
/// A schema for answers, in bytes: what fits into a prompt beside the task.
pub const SCHEMA_BYTES_MAX: usize = 64 << 10;
/// Schemas in one another.
pub const SCHEMA_DEPTH_MAX: usize = 32;
/// How deep an answer is held against its schema.
pub const SCHEMA_ANSWER_DEPTH_MAX: usize = 64;
/// Schemas that are held against parts of one answer: a second of work.
pub const SCHEMA_STEPS_MAX: usize = 100_000;
/// Faults of an answer that a model is told at once.
pub const SCHEMA_FAULTS_MAX: usize = 8;
/// Items of a list that are compared with one another.
pub const SCHEMA_UNIQUE_MAX: usize = 1_000;
/// Memory of one pattern of a schema, in bytes.
pub const SCHEMA_PATTERN_BYTES_MAX: usize = 1 << 20;
/// Part of a model's window, in percent, from which on the conversation is shortened.
pub const COMPACT_PERCENT: u64 = 75;
/// Part of a model's window, in percent, that the newest messages keep when it is shortened.
pub const COMPACT_KEPT_PERCENT: u64 = 20;
/// The summary of a shortened conversation, in tokens.
pub const COMPACT_SUMMARY_TOKENS: u32 = 4_096;
/// Turns left at which the model is told how many.
pub const TURNS_LEFT_TOLD: u64 = 5;
/// How often a worker looks at the runs that it waits for, in milliseconds, where nothing wakes
/// it: the wake comes from their supervisors.
pub const OWN_RUNS_LOOK_MS: u64 = 30_000;
/// Id of a call, in bytes: a file name with it stays far below every file system's limit.
pub const CALL_ID_BYTES_MAX: usize = 64;
/// Calls of one run that run at once: each has a keeper, a pipe and a log.
pub const CALLS_OPEN_MAX: usize = 32;
/// Asks of one run that are open at once: more than a person answers.
pub const ASKS_OPEN_MAX: usize = 32;
/// What a supervisor reads of its worker in one turn, in bytes: signals and cancels come between.
pub const WORKER_TURN_BYTES: usize = 256 << 10;
/// What a worker may leave unread before it is read no more itself, in bytes.
pub const WORKER_BEHIND_BYTES: usize = 64 << 10;
/// What a worker may leave unread before it is replaced, in bytes.
pub const WORKER_UNREAD_BYTES_MAX: usize = 1 << 20;
/// What the workers of one run may tell for its journal, in bytes: 200 turns of 2 MiB and more.
pub const WORKER_FACTS_BYTES_MAX: u64 = 512 << 20;
/// How long a worker may take to leave once it has told how its work ended, in milliseconds.
pub const WORKER_LEAVE_MS: u64 = 10_000;
/// Pause before the second restart of a worker within its time, in milliseconds; each further
/// one is twice as long.
pub const WORKER_PAUSE_MS: u64 = 100;
/// What an answer to an ask, or a text for a model, may have as one control message, in bytes:
/// a text of [`SEND_BYTES_MAX`] whose every second character is escaped.
pub const CONTROL_TEXT_BYTES_MAX: usize = 40 << 10;
/// How often a wait looks whether a run that may ask does, in milliseconds.
pub const ASK_LOOK_MS: u64 = 500;
/// Names in the chain of agents that led to a run; of a longer one the newest stay.
pub const ANCESTRY_MAX: usize = 16;
/// One name in such a chain, in characters.
pub const ANCESTOR_CHARS: usize = 60;
