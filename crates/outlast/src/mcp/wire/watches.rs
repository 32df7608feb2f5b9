//! Subscriptions to resources: of a session one by one, or of one request that stays open.
//!
//! Each watch holds a thread that sleeps until something changes. Changes that
//! come faster than hosts can use are told once.

use super::{
    offer::{After, Listener, Mark, Offer, RequestError},
    server::refused,
};
use outlast_lib::limits;
use rmcp::{
    ErrorData, Peer, RoleServer,
    model::{ErrorCode, ResourceUpdatedNotificationParam},
    service::SubscriptionContext,
};
use std::{
    collections::HashMap,
    io::{self, PipeWriter},
    os::fd::AsFd,
    sync::{Arc, Mutex, PoisonError},
};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore, mpsc},
    task::{AbortHandle, JoinSet, spawn_blocking},
};

/// What one server watches.
pub(super) struct Watches {
    places: Arc<Semaphore>,
    /// Of the session: watches by address, each a task that ends with the server.
    session: Mutex<(JoinSet<()>, HashMap<String, AbortHandle>)>,
    /// Where resources stood that requests which just open will listen to.
    marks: Mutex<HashMap<String, Mark>>,
}

impl Watches {
    /// Returns a server's watches before the first.
    pub(super) fn new() -> Self {
        Self {
            places: Arc::new(Semaphore::new(limits::WATCHES_MAX)),
            session: Mutex::new((JoinSet::new(), HashMap::new())),
            marks: Mutex::new(HashMap::new()),
        }
    }

    /// Tells the session of changes of a resource since `mark`.
    ///
    /// # Errors
    ///
    /// Fails when too many are watched.
    pub(super) fn begin<O: Offer>(
        &self,
        offer: &Arc<O>,
        uri: String,
        mark: Mark,
        peer: Peer<RoleServer>,
    ) -> Result<(), ErrorData> {
        let mut session = self.session.lock().unwrap_or_else(PoisonError::into_inner);
        let (tasks, by_uri) = &mut *session;
        // Those that are over make room.
        while tasks.try_join_next().is_some() {}
        by_uri.retain(|_, task| !task.is_finished());
        if by_uri.contains_key(&uri) {
            return Ok(());
        }
        let watch = Watch::begin(&self.places, offer, &uri, mark).map_err(refused)?;
        let told = uri.clone();
        let task = tasks.spawn(watch.relay(move || {
            let news = ResourceUpdatedNotificationParam::new(told.clone());
            let peer = peer.clone();
            async move { peer.notify_resource_updated(news).await.is_ok() }
        }));
        by_uri.insert(uri, task);
        Ok(())
    }

    /// Tells the session no more of a resource.
    pub(super) fn end(&self, uri: &str) {
        let mut session = self.session.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(task) = session.1.remove(uri) {
            task.abort();
        }
    }

    /// Notes where a resource stands that a request is about to listen to.
    ///
    /// Returns whether there is room for the note.
    pub(super) fn note(&self, uri: &str, mark: Mark) -> bool {
        let mut marks = self.marks.lock().unwrap_or_else(PoisonError::into_inner);
        let has_room = marks.len() < limits::WATCHES_MAX;
        if has_room || marks.contains_key(uri) {
            // The older of two: a change is rather told twice than not at all.
            marks.entry(uri.to_owned()).or_insert(mark);
            return true;
        }
        false
    }

    fn take_mark(&self, uri: &str) -> Mark {
        let mut marks = self.marks.lock().unwrap_or_else(PoisonError::into_inner);
        // Without a note, everything is a change.
        let from_start = Mark {
            at: 0,
            is_last: false,
        };
        marks.remove(uri).unwrap_or(from_start)
    }

    /// Tells an open request of changes of what it asked for, until it is cancelled.
    pub(super) async fn listen<O: Offer>(&self, offer: &Arc<O>, context: &SubscriptionContext) {
        let mut tasks = JoinSet::new();
        let accepted = context.accepted().resource_subscriptions.iter().flatten();
        for uri in accepted {
            // Without a place there is no news, which a host may not rely on anyway.
            let mark = self.take_mark(uri);
            let Ok(watch) = Watch::begin(&self.places, offer, uri, mark) else {
                continue;
            };
            let (sink, uri) = (context.sink().clone(), uri.clone());
            tasks.spawn(watch.relay(move || {
                let (sink, uri) = (sink.clone(), uri.clone());
                async move { sink.notify_resource_updated(uri).await.is_ok() }
            }));
        }
        context.cancelled().await;
    }
}

/// Returns the error of an address at which nothing can be watched.
pub(super) fn unknown(uri: &str) -> RequestError {
    let uri: String = uri.chars().take(limits::LABEL_GIVEN_CHARS).collect();
    RequestError::not_found(format!(
        "there is no resource `{uri}`; `resources/list` has the newest"
    ))
}

/// Returns the error of a subscription that nobody could be told of.
pub(super) fn no_session() -> ErrorData {
    let fact = "there is no session here that could be told of changes; read the resource again, \
                or listen to it as revision 2026-07-28 does";
    ErrorData::new(ErrorCode::METHOD_NOT_FOUND, fact, None)
}

/// One resource that is watched. It ends when this is dropped.
struct Watch {
    changes: mpsc::Receiver<()>,
    _hold: PipeWriter,
    _place: OwnedSemaphorePermit,
}

impl Watch {
    fn begin<O: Offer>(
        places: &Arc<Semaphore>,
        offer: &Arc<O>,
        uri: &str,
        mark: Mark,
    ) -> Result<Self, RequestError> {
        let place = Arc::clone(places).try_acquire_owned().map_err(|_| {
            let most = limits::WATCHES_MAX;
            RequestError::internal(format!(
                "{most} resources are watched, and no more can be; unsubscribe from one"
            ))
        })?;
        let pipe = io::pipe().map_err(|error| RequestError::internal(error.to_string()))?;
        let (interrupt, hold) = pipe;
        // One change that waits to be told stands for those after it.
        let (sender, changes) = mpsc::channel(1);
        let (offer, uri) = (Arc::clone(offer), uri.to_owned());
        // It is owned by the pipe: its thread leaves when the other end is closed.
        drop(spawn_blocking(move || {
            let listener = Listener {
                interrupt: interrupt.as_fd(),
                after: &After::default(),
            };
            let changed = || {
                sender.try_send(()).ok();
            };
            // A resource that cannot be watched any more has no news.
            offer.watch(&uri, mark, &listener, &changed).ok();
        }));
        Ok(Self {
            changes,
            _hold: hold,
            _place: place,
        })
    }

    /// Tells each change by `tell`, until there will be none or nobody can be told.
    async fn relay<F: Future<Output = bool>>(mut self, tell: impl Fn() -> F) {
        while self.changes.recv().await.is_some() {
            if !tell().await {
                return;
            }
        }
    }
}
