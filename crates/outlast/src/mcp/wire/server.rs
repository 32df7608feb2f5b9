//! The server: what each request of the protocol is answered.
//!
//! Calls run on threads of their own. A request that is cancelled, and a
//! connection that ends, let go of a wait; no run hears of it.

use super::{
    frames, http, misfit,
    offer::{After, Call, Caller, Listener, Offer, Reply, RequestError},
    progress::Progress,
    resources,
    roots::Roots,
    tasks,
    watches::{self, Watches},
};
use outlast_lib::limits;
use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        CacheScope, CallToolRequestParams, CallToolResponse, CancelTaskParams, CustomRequest,
        CustomResult, DiscoverResult, ErrorCode, GetTaskParams, GetTaskResult, Implementation,
        InitializeRequestParams, InitializeResult, ListResourceTemplatesResult,
        ListResourcesResult, ListToolsResult, PaginatedRequestParams, ProtocolVersion,
        ReadResourceRequestParams, ReadResourceResponse, ServerCapabilities, ServerConfig,
        SubscribeRequestParams, SubscriptionFilter, Tool as Definition, UnsubscribeRequestParams,
        UpdateTaskParams,
    },
    service::{NotificationContext, RequestContext, SubscriptionContext},
};
use serde::Deserialize;
use serde_json::Value;
use std::{io, os::fd::AsFd, sync::Arc};
use tokio::{sync::Semaphore, task::spawn_blocking};
use tokio_util::sync::CancellationToken;

/// How long hosts may keep the list of tools, in milliseconds: it changes with the program only.
const TOOLS_FRESH_MS: u64 = 3_600_000;

/// Where hosts put their own id of a call: Codex, Claude Code.
const CALL_IDS: [&str; 2] = ["callId", "claudecode/toolUseId"];

/// One server. It keeps no run and no task.
pub(crate) struct Server<O> {
    offer: Arc<O>,
    /// Places of calls that wait, so that these leave threads to the others.
    waits: Arc<Semaphore>,
    watches: Watches,
    roots: Roots,
    definitions: Vec<Definition>,
}

impl<O: Offer> Server<O> {
    /// Makes a server of what is offered.
    pub(crate) fn new(offer: Arc<O>) -> Self {
        #[derive(Deserialize)]
        struct File {
            tools: Vec<Definition>,
        }
        let file: File =
            serde_json::from_str(offer.definitions()).expect("the definitions are tools");
        Self {
            offer,
            waits: Arc::new(Semaphore::new(limits::TOOL_WAITS_MAX)),
            watches: Watches::new(),
            roots: Roots::new(),
            definitions: file.tools,
        }
    }

    /// Returns how many calls wait now.
    pub(crate) fn waiting(&self) -> usize {
        limits::TOOL_WAITS_MAX - self.waits.available_permits()
    }

    /// Has something answered on a thread.
    async fn ask<T: Send + 'static>(
        &self,
        ask: impl FnOnce(&O) -> Result<T, RequestError> + Send + 'static,
    ) -> Result<T, ErrorData> {
        let offer = Arc::clone(&self.offer);
        let answered = spawn_blocking(move || ask(&offer)).await;
        answered.map_err(|error| broken(&error))?.map_err(refused)
    }

    /// Returns who calls, by what the host says of itself.
    async fn caller(&self, context: &RequestContext<RoleServer>) -> Caller {
        let text = |name: &str| {
            let value = context.meta.get(name)?.as_str()?;
            Some(value.to_owned()).filter(|text| !text.trim().is_empty())
        };
        let can_ask = frames::is_lasting(context) && !is_sessionless(context);
        let roots = if can_ask && self.offer.wants_roots() {
            self.roots.of(&context.peer).await
        } else {
            Arc::default()
        };
        Caller {
            host: http::host(context),
            session: text("sessionId"),
            thread: text("threadId"),
            call: CALL_IDS.iter().find_map(|name| text(name)),
            roots,
        }
    }

    async fn instructions(&self) -> Option<String> {
        self.ask(|offer| Ok(offer.instructions())).await.ok()
    }

    /// Answers one call on a thread. `dropped` lets go of a wait.
    ///
    /// `written` does what is to be done once the answer is written; where nobody tells when
    /// that is, it is done here.
    async fn answer(
        &self,
        call: Call,
        dropped: CancellationToken,
        written: Option<After>,
        progress: Option<Progress>,
    ) -> Result<Reply, ErrorData> {
        let may_wait = self.offer.may_wait(&call);
        let progress = progress.filter(|_| may_wait);
        let place = if may_wait {
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
        let after = written.clone().unwrap_or_default();
        let here = after.clone();
        let work = self.ask(move |offer| {
            let listener = Listener {
                interrupt: interrupt.as_fd(),
                after: &after,
            };
            offer.call(call, &listener)
        });
        tokio::pin!(work);
        let done = tokio::select! {
            done = &mut work => Some(done),
            () = dropped.cancelled() => None,
            never = Progress::tell(progress) => match never {},
        };
        drop(hold);
        let done = match done {
            Some(done) => done,
            None => work.await,
        };
        drop(place);
        if written.is_none()
            && !dropped.is_cancelled()
            && let Some(act) = here.take()
        {
            spawn_blocking(act).await.map_err(|error| broken(&error))?;
        }
        done
    }
}

fn broken(error: &dyn std::error::Error) -> ErrorData {
    ErrorData::internal_error(format!("the call could not be answered: {error}"), None)
}

pub(super) fn refused(error: RequestError) -> ErrorData {
    ErrorData::new(ErrorCode(error.code), error.message, error.data)
}

/// Returns whether the revision spoken in a request is 2026-07-28 or a later one.
fn is_sessionless(context: &RequestContext<RoleServer>) -> bool {
    // Versions are dates, so they compare as text.
    context
        .protocol_version()
        .is_some_and(|version| version.as_str() >= ProtocolVersion::V_2026_07_28.as_str())
}

impl<O: Offer> ServerHandler for Server<O> {
    fn get_info(&self) -> ServerConfig {
        let offered = ServerCapabilities::builder()
            .enable_tools()
            .enable_resources()
            .enable_resources_subscribe()
            .enable_tasks();
        let mut program = Implementation::new("outlast", env!("CARGO_PKG_VERSION"));
        program.title = Some("Outlast".to_owned());
        ServerConfig::new(offered.build()).with_server_info(program)
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        context.peer.set_peer_info(request.clone());
        let mut answer = self.negotiate_initialize(&request)?;
        // Tasks are of a revision that does not come this way.
        answer.capabilities.extensions = None;
        if let Some(resources) = &mut answer.capabilities.resources
            && !frames::is_lasting(&context)
        {
            resources.subscribe = None;
        }
        answer.instructions = self.instructions().await;
        Ok(answer)
    }

    async fn on_roots_list_changed(&self, _context: NotificationContext<RoleServer>) {
        self.roots.forget();
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
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        resources::check_cursor(request)?;
        let mut answer = ListToolsResult::with_all_items(self.definitions.clone());
        if is_sessionless(&context) {
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
        let call = Call {
            tool: request.name.into_owned(),
            arguments: request.arguments.unwrap_or_default(),
            caller: self.caller(&context).await,
            takes_task: tasks::takes_task(&context),
        };
        let progress = Progress::of(&context);
        let written = frames::after(&context);
        match self.answer(call, context.ct, written, progress).await? {
            Reply::Result(result) => {
                let result = tasks::read(result).map_err(refused)?;
                Ok(CallToolResponse::Complete(result))
            }
            Reply::Task(task) => Ok(CallToolResponse::Task(tasks::created(task))),
        }
    }

    async fn get_task(
        &self,
        request: GetTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetTaskResult, ErrorData> {
        let caller = self.caller(&context).await;
        let task = self.ask(move |offer| offer.task(&caller, &request.task_id));
        tasks::told(task.await?).map_err(refused)
    }

    async fn update_task(
        &self,
        request: UpdateTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let caller = self.caller(&context).await;
        let answers = match serde_json::to_value(&request.input_responses) {
            Ok(Value::Object(answers)) => answers,
            Ok(_) | Err(_) => serde_json::Map::new(),
        };
        self.ask(move |offer| offer.update_task(&caller, &request.task_id, answers))
            .await
    }

    async fn cancel_task(
        &self,
        request: CancelTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let caller = self.caller(&context).await;
        self.ask(move |offer| offer.cancel_task(&caller, &request.task_id))
            .await
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        Err(misfit::error(&request, is_sessionless(&context)))
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        resources::check_cursor(request)?;
        let caller = self.caller(&context).await;
        let listed = self.ask(move |offer| offer.resources(&caller)).await?;
        Ok(resources::list(listed))
    }

    async fn list_resource_templates(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        resources::check_cursor(request)?;
        let mut answer = resources::templates(self.offer.templates());
        if is_sessionless(&context) {
            answer.ttl_ms = Some(TOOLS_FRESH_MS);
            answer.cache_scope = Some(CacheScope::Public);
        }
        Ok(answer)
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let (caller, uri) = (self.caller(&context).await, request.uri.clone());
        let content = self.ask(move |offer| offer.read_resource(&caller, &uri));
        Ok(resources::content(request.uri, content.await?).into())
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        if !frames::is_lasting(&context) {
            return Err(watches::no_session());
        }
        let uri = request.uri.clone();
        let mark = self.ask(move |offer| Ok(offer.mark(&uri)));
        let Some(mark) = mark.await? else {
            return Err(refused(watches::unknown(&request.uri)));
        };
        self.watches
            .begin(&self.offer, request.uri, mark, context.peer)
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.watches.end(&request.uri);
        Ok(())
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        let uris = requested.resource_subscriptions.iter().flatten();
        // Marked before it is acknowledged: what changes after that is told.
        let uris = uris.filter(|uri| match self.offer.mark(uri) {
            Some(mark) => self.watches.note(uri, mark),
            None => false,
        });
        let uris = uris.take(limits::WATCHES_MAX);
        let accepted = SubscriptionFilter::builder().resource_subscriptions(uris);
        Some(accepted.build())
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        self.watches.listen(&self.offer, &context).await;
        Ok(())
    }
}
