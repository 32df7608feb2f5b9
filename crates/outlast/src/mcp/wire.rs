//! The protocol: all that is `rmcp` or async stands here.
//!
//! Calls run on threads of their own. A request that is cancelled, and a
//! connection that ends, let go of a wait; no run hears of it.

use super::{
    answer::Answer,
    desk::{Caller, Desk},
    http,
    tools::{self, DEFINITIONS, Tool},
};
use crate::failure::{Failure, exit};
use outlast_lib::limits;
use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        CacheScope, CallToolRequestParams, CallToolResponse, CallToolResult, DiscoverResult,
        Implementation, InitializeRequestParams, InitializeResult, ListToolsResult,
        PaginatedRequestParams, ProtocolVersion, ServerCapabilities, ServerConfig,
        Tool as Definition,
    },
    service::{RequestContext, ServerInitializeError, serve_server_with_ct},
    transport::stdio_pipes,
};
use rustix::process::{PidfdFlags, getppid, pidfd_open};
use serde::Deserialize;
use serde_json::{Map, Value};
use std::{
    future::pending,
    io,
    os::fd::{AsFd, OwnedFd},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};
use tokio::{
    io::{AsyncRead, Interest, ReadBuf, unix::AsyncFd},
    sync::Semaphore,
    task::spawn_blocking,
    time::timeout,
};
use tokio_util::sync::CancellationToken;

/// How long hosts may keep the list of tools, in milliseconds: it changes with the program only.
const TOOLS_FRESH_MS: u64 = 3_600_000;

/// Serves on stdio until it ends or the parent is gone.
///
/// # Errors
///
/// Fails when whoever is on the other side does not speak the protocol.
pub(super) async fn serve(desk: Arc<Desk>) -> Result<(), Failure> {
    let gone = CancellationToken::new();
    let (reader, writer) = stdio_pipes();
    let reader = Watched {
        reader,
        gone: gone.clone(),
    };
    let server = Server::new(desk);
    let serving = async {
        match serve_server_with_ct(server, (reader, writer), gone.clone()).await {
            Ok(running) => {
                // How the loop ended does not matter: it has.
                running.waiting().await.ok();
                Ok(())
            }
            Err(ServerInitializeError::ConnectionClosed(_) | ServerInitializeError::Cancelled) => {
                Ok(())
            }
            Err(error) => Err(not_understood(&error)),
        }
    };
    tokio::select! {
        outcome = serving => outcome,
        () = left(&gone) => Ok(()),
    }
}

/// Returns a moment after the host has left: answers that are nearly there may still go out.
async fn left(gone: &CancellationToken) {
    tokio::select! {
        () = gone.cancelled() => {}
        () = parent_gone() => gone.cancel(),
    }
    let limit = Duration::from_millis(limits::TOOL_LEAVE_MS);
    timeout(limit, pending::<()>()).await.ok();
}

/// Returns when the parent of this process ends; never where it cannot be watched.
async fn parent_gone() {
    let pidfd = getppid().and_then(|parent| pidfd_open(parent, PidfdFlags::NONBLOCK).ok());
    match pidfd.and_then(watch) {
        Some(pidfd) => wait_readable(&pidfd).await,
        None => pending().await,
    }
}

#[expect(
    deprecated,
    reason = "its successor is unsafe for types whose descriptor may change; an owned one is fixed"
)]
fn watch(pidfd: OwnedFd) -> Option<AsyncFd<OwnedFd>> {
    AsyncFd::with_interest(pidfd, Interest::READABLE).ok()
}

async fn wait_readable(pidfd: &AsyncFd<OwnedFd>) {
    if pidfd.readable().await.is_err() {
        pending::<()>().await;
    }
}

fn not_understood(error: &ServerInitializeError) -> Failure {
    // What came is not repeated: it may be long, and hold anything.
    let what = if matches!(error, ServerInitializeError::ExpectedInitializeRequest(_)) {
        "the first message is no request"
    } else {
        "the first request was not answered"
    };
    Failure::plain(
        "not_mcp",
        format!("no session was opened: {what}"),
        "name `outlast mcp` as an MCP server on stdio in the host's configuration",
        exit::ERROR,
    )
}

/// A reader that tells when there is nothing more to come.
struct Watched<R> {
    reader: R,
    gone: CancellationToken,
}

impl<R: AsyncRead + Unpin> AsyncRead for Watched<R> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = buffer.filled().len();
        let outcome = ready!(Pin::new(&mut this.reader).poll_read(context, buffer));
        if outcome.is_err() || (buffer.filled().len() == before && buffer.remaining() > 0) {
            this.gone.cancel();
        }
        Poll::Ready(outcome)
    }
}

/// The tools as hosts are told of them.
fn definitions() -> Vec<Definition> {
    #[derive(Deserialize)]
    struct File {
        tools: Vec<Definition>,
    }
    let file: File = serde_json::from_str(DEFINITIONS).expect("the definitions are tools");
    file.tools
}

/// What answers the requests of hosts.
pub(super) struct Server {
    desk: Arc<Desk>,
    /// Places of calls that wait, so that these leave threads to the others.
    waits: Arc<Semaphore>,
    definitions: Vec<Definition>,
}

impl Server {
    /// Makes the server of a desk.
    pub(super) fn new(desk: Arc<Desk>) -> Self {
        Self {
            desk,
            waits: Arc::new(Semaphore::new(limits::TOOL_WAITS_MAX)),
            definitions: definitions(),
        }
    }

    /// Returns how many calls wait now.
    pub(super) fn waiting(&self) -> usize {
        limits::TOOL_WAITS_MAX - self.waits.available_permits()
    }

    async fn instructions(&self) -> Option<String> {
        let desk = Arc::clone(&self.desk);
        spawn_blocking(move || desk.instructions()).await.ok()
    }

    /// Answers one call on a thread. `dropped` lets go of a wait.
    async fn answer(
        &self,
        tool: Tool,
        arguments: Map<String, Value>,
        caller: Caller,
        dropped: CancellationToken,
    ) -> Result<Answer, ErrorData> {
        let place = if tool.may_wait(&arguments) {
            tokio::select! {
                place = Arc::clone(&self.waits).acquire_owned() => place.ok(),
                // Nothing was begun, and nobody is there to be told.
                () = dropped.cancelled() => {
                    return Err(ErrorData::internal_error("cancelled before it began", None));
                }
            }
        } else {
            None
        };
        // The wait ends once the other end of this pipe is closed.
        let (interrupt, hold) = io::pipe().map_err(|error| broken(&error))?;
        let desk = Arc::clone(&self.desk);
        let is_dropped = dropped.clone();
        let mut work = spawn_blocking(move || {
            let answer = tools::answer(&desk, &caller, tool, arguments, interrupt.as_fd());
            // What nobody is there to hear is told again.
            if !is_dropped.is_cancelled() {
                desk.note_told(&caller, &answer.told);
            }
            answer
        });
        let done = tokio::select! {
            done = &mut work => Some(done),
            () = dropped.cancelled() => None,
        };
        drop(hold);
        let done = match done {
            Some(done) => done,
            None => work.await,
        };
        drop(place);
        done.map_err(|error| broken(&error))
    }
}

fn broken(error: &dyn std::error::Error) -> ErrorData {
    ErrorData::internal_error(format!("the call could not be answered: {error}"), None)
}

/// Returns who calls, by what the host says of itself.
fn caller(context: &RequestContext<RoleServer>) -> Caller {
    let text = |name: &str| {
        let value = context.meta.get(name)?.as_str()?;
        Some(value.to_owned()).filter(|text| !text.trim().is_empty())
    };
    Caller {
        host: http::host(context),
        session: text("sessionId"),
        thread: text("threadId"),
    }
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let tools = ServerCapabilities::builder().enable_tools().build();
        let mut program = Implementation::new("outlast", env!("CARGO_PKG_VERSION"));
        program.title = Some("Outlast".to_owned());
        ServerConfig::new(tools).with_server_info(program)
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        context.peer.set_peer_info(request.clone());
        let mut answer = self.negotiate_initialize(&request)?;
        answer.instructions = self.instructions().await;
        Ok(answer)
    }

    async fn discover(
        &self,
        _context: RequestContext<RoleServer>,
    ) -> Result<DiscoverResult, ErrorData> {
        let versions = self.supported_protocol_versions().into_owned();
        let mut answer = DiscoverResult::from_server_info(versions, self.get_info());
        answer.instructions = self.instructions().await;
        answer.ttl_ms = 0;
        answer.cache_scope = CacheScope::Private;
        Ok(answer)
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let mut answer = ListToolsResult::with_all_items(self.definitions.clone());
        let version = context.protocol_version();
        // Versions are dates, so they compare as text.
        if version.is_some_and(|version| version.as_str() >= ProtocolVersion::V_2026_07_28.as_str())
        {
            answer.ttl_ms = Some(TOOLS_FRESH_MS);
            answer.cache_scope = Some(CacheScope::Public);
        }
        Ok(answer)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some(tool) = Tool::named(&request.name) else {
            let name: String = request.name.chars().take(80).collect();
            return Err(ErrorData::invalid_params(
                format!("unknown tool `{name}`"),
                None,
            ));
        };
        let arguments = request.arguments.unwrap_or_default();
        let caller = caller(&context);
        let answer = self.answer(tool, arguments, caller, context.ct).await?;
        let object = Value::Object(answer.object);
        let result = if answer.is_refusal {
            CallToolResult::structured_error(object)
        } else {
            CallToolResult::structured(object)
        };
        Ok(CallToolResponse::Complete(result))
    }
}
