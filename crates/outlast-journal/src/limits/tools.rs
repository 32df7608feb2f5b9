//! Limits of the tools of an agent run, each as in the module above.

/// One line of a file or of a match as a model is shown it, in bytes: longer ones are cut.
pub const SHOWN_LINE_BYTES: usize = 2_000;
/// What one read of a file shows, in bytes: about 800 lines of code.
pub const READ_SHOWN_BYTES: usize = 32 << 10;
/// Lines that one read of a file shows, at most.
pub const READ_LINES_MAX: u64 = 2_000;
/// How much of a file one read looks through, in bytes: a second's work.
pub const READ_SCAN_BYTES_MAX: u64 = 256 << 20;
/// File that an agent may edit, in bytes: it is held in memory a few times.
pub const EDIT_FILE_BYTES_MAX: u64 = 16 << 20;
/// Text that one call writes, in bytes: its escapes must fit into one line to the supervisor.
pub const WRITE_BYTES_MAX: usize = 1 << 20;
/// Entries of one list of a directory.
pub const LIST_ENTRIES_MAX: usize = 500;
/// Files that one search for names shows.
pub const FIND_FILES_MAX: usize = 200;
/// Names that one search looks at: a large repository with what it built.
pub const WALK_ENTRIES_MAX: usize = 500_000;
/// How deep a search goes.
pub const WALK_DEPTH_MAX: usize = 64;
/// One ignore file, in bytes: more is no list that a person keeps.
pub const IGNORE_FILE_BYTES_MAX: u64 = 256 << 10;
/// Lines that one search in files shows, context apart.
pub const GREP_LINES_MAX: usize = 200;
/// File that a search looks into, in bytes: larger ones are data.
pub const GREP_FILE_BYTES_MAX: u64 = 8 << 20;
/// Line of a match as a model is shown it, in bytes: longer ones are shown around the match.
pub const GREP_LINE_BYTES: usize = 400;
/// Time of a hand that writes a file, in milliseconds: a slow network file system included.
pub const HAND_MS: u64 = 60_000;
/// Places of a text that a refused edit names.
pub const EDIT_PLACES_NAMED_MAX: usize = 10;
/// Items of a list of things to do.
pub const TODO_ITEMS_MAX: usize = 50;
/// One item of it, in characters.
pub const TODO_CHARS_MAX: usize = 300;
/// An expression to compute, in characters.
pub const EXPRESSION_CHARS_MAX: usize = 1_000;
/// How deep an expression to compute may be nested.
pub const EXPRESSION_DEPTH_MAX: usize = 64;
/// One note about a project, in characters: a fact, not a document.
pub const NOTE_CHARS_MAX: usize = 1_000;
/// Notes about one project; the oldest go.
pub const NOTES_MAX: u64 = 500;
/// Notes that one search brings.
pub const NOTES_SHOWN_MAX: usize = 10;
/// Notes that are put before the first turn of a run, in bytes.
pub const NOTES_PROMPT_BYTES: usize = 4 << 10;
/// Words of a text by which notes are searched.
pub const NOTE_WORDS_MAX: usize = 64;
/// Body of an HTTP answer that an agent gets, in bytes.
pub const FETCH_BODY_BYTES_MAX: usize = 4 << 20;
/// How long an HTTP request of an agent may take, in seconds.
pub const FETCH_SECS_MAX: u64 = 120;
/// How long it may take unless it asks for another time, in seconds.
pub const FETCH_SECS: u64 = 30;
/// Redirects that it follows.
pub const FETCH_REDIRECTS_MAX: usize = 5;
/// How long a call that the worker does itself may take, in milliseconds.
pub const OWN_CALL_MS: u64 = 60_000;
/// Time of a search, in milliseconds: it then shows what it has.
pub const SEARCH_MS: u64 = 20_000;
