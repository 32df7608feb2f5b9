//! Frames of a connection: one message a line, in and out, all of it bounded.
//!
//! What cannot be a message is answered with what is wrong with it. A host that
//! does not read its answers is not read either, until it does.

use super::{
    judge::{self, Verdict},
    offer::{Act, After},
    skim::Skim,
};
use outlast_lib::limits;
use rmcp::{
    ErrorData, RoleServer,
    model::{
        ClientJsonRpcMessage, ClientNotification, GetExtensions, JsonRpcMessage,
        JsonRpcNotification, RequestId,
    },
    service::{RequestContext, RxJsonRpcMessage, TxJsonRpcMessage},
    transport::Transport,
};
use std::{
    collections::HashMap,
    io::{self, ErrorKind},
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};
use tokio::{
    io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader},
    sync::{Notify, OwnedSemaphorePermit, Semaphore, mpsc},
    task::{JoinHandle, JoinSet, spawn_blocking},
    time::{Instant, timeout_at},
};
use tokio_util::sync::CancellationToken;

/// Answers that wait for their turn to be written, beside those that their senders hold.
const QUEUE_MAX: usize = 16;

/// The unit in which room for requests is counted, in bytes.
const UNIT_BYTES: usize = 1 << 10;

/// A connection of which each line is a message.
pub(super) struct Frames<R> {
    reader: BufReader<R>,
    /// What there is of the line that comes.
    line: Vec<u8>,
    skim: Skim,
    /// The line is too long and is not kept.
    is_dropped: bool,
    /// A request that waits for room, and until when.
    next: Option<(Box<ClientJsonRpcMessage>, usize, Instant)>,
    room: Arc<Semaphore>,
    /// Requests that are not answered yet.
    open: HashMap<RequestId, After>,
    /// A request came that is more than a question who is there.
    is_begun: bool,
    /// Answers that are made here, on their way out.
    own: JoinSet<io::Result<()>>,
    out: Option<mpsc::Sender<Line>>,
    unwritten: Arc<Unwritten>,
    writer: Option<JoinHandle<()>>,
    ends: Ends,
}

/// How a connection ends that is not read.
pub(super) struct Ends {
    /// Comes when the other side has closed what is read here.
    pub(super) hung_up: Pin<Box<dyn Future<Output = ()> + Send>>,
    /// Cancelled when nobody is there any more.
    pub(super) gone: CancellationToken,
}

/// Room that a request holds as long as it is worked on.
#[derive(Clone, Debug)]
struct Held {
    #[expect(dead_code, reason = "it is held, not read")]
    room: Arc<OwnedSemaphorePermit>,
    after: After,
}

/// A line on its way out.
struct Line {
    bytes: Vec<u8>,
    /// What is to be done once it is written.
    act: Option<Act>,
}

/// Returns whether a request came on a connection that lasts beyond it, as those here do.
///
/// Only there can a host be asked, or be told of something later.
pub(super) fn is_lasting(context: &RequestContext<RoleServer>) -> bool {
    after(context).is_some()
}

/// Returns what is to be done once the answer to a request is written, if that can be told.
pub(super) fn after(context: &RequestContext<RoleServer>) -> Option<After> {
    let held = context.extensions.get::<Held>()?;
    Some(held.after.clone())
}

/// Answers that are not written yet.
#[derive(Debug, Default)]
struct Unwritten {
    bytes: AtomicUsize,
    /// Lines after which something is to be done, which the next request must find done.
    acts: AtomicUsize,
    eased: Notify,
}

impl Unwritten {
    fn add(&self, bytes: usize, has_act: bool) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        self.acts.fetch_add(usize::from(has_act), Ordering::Relaxed);
    }

    fn remove(&self, bytes: usize, had_act: bool) {
        self.bytes.fetch_sub(bytes, Ordering::Relaxed);
        self.acts.fetch_sub(usize::from(had_act), Ordering::Relaxed);
        self.eased.notify_one();
    }

    fn is_eased(&self) -> bool {
        self.bytes.load(Ordering::Relaxed) <= limits::UNREAD_BYTES_MAX
            && self.acts.load(Ordering::Relaxed) == 0
    }

    /// Returns once there is room for more.
    async fn eased(&self) {
        while !self.is_eased() {
            self.eased.notified().await;
        }
    }
}

impl<R: AsyncRead + Send + Unpin + 'static> Frames<R> {
    /// Makes the connection of two pipes.
    pub(super) fn new<W>(reader: R, writer: W, ends: Ends) -> Self
    where
        W: AsyncWrite + Send + Unpin + 'static,
    {
        let (out, lines) = mpsc::channel(QUEUE_MAX);
        let unwritten = Arc::new(Unwritten::default());
        let gone = ends.gone.clone();
        let writer = tokio::spawn(write(writer, lines, Arc::clone(&unwritten), gone));
        Self {
            reader: BufReader::new(reader),
            line: Vec::new(),
            skim: Skim::default(),
            is_dropped: false,
            next: None,
            room: Arc::new(Semaphore::new(limits::REQUESTS_BYTES_MAX / UNIT_BYTES)),
            own: JoinSet::new(),
            out: Some(out),
            unwritten,
            writer: Some(writer),
            open: HashMap::new(),
            is_begun: false,
            ends,
        }
    }

    /// Returns whether the other side reads what it is sent; false when it has left instead.
    async fn is_read(&mut self) -> bool {
        tokio::select! {
            biased;
            () = self.unwritten.eased() => true,
            () = &mut self.ends.hung_up => {
                self.ends.gone.cancel();
                false
            }
        }
    }

    /// Returns the next frame that is something; `None` at the end.
    ///
    /// Nothing is lost when this is dropped and called again.
    async fn frame(&mut self) -> Option<Verdict> {
        loop {
            let come = match self.reader.fill_buf().await {
                Ok(come) if !come.is_empty() => come,
                // A last line without its end is no message.
                Ok(_) | Err(_) => return None,
            };
            let end = come.iter().position(|byte| *byte == b'\n');
            let part = come.get(..end.unwrap_or(come.len())).unwrap_or_default();
            self.skim.feed(part);
            if self.line.len() + part.len() > limits::FRAME_BYTES_MAX {
                self.is_dropped = true;
                self.line = Vec::new();
            }
            if !self.is_dropped {
                self.line.extend_from_slice(part);
            }
            let used = part.len() + usize::from(end.is_some());
            self.reader.consume(used);
            if end.is_some() {
                return Some(self.end_of_line());
            }
        }
    }

    fn end_of_line(&mut self) -> Verdict {
        let skim = std::mem::take(&mut self.skim);
        let line = std::mem::take(&mut self.line);
        if std::mem::take(&mut self.is_dropped) {
            return judge::too_long(&skim);
        }
        let verdict = judge::judge(&line, &skim);
        let weight = line.len().max(limits::REQUEST_BYTES_MIN) / UNIT_BYTES;
        if let Verdict::Message(message) = verdict {
            let until = Instant::now() + Duration::from_millis(limits::REQUEST_ROOM_MS);
            self.next = Some((message, weight, until));
            return Verdict::Nothing;
        }
        verdict
    }

    /// Gives the message that waits on, once there is room; answers it where there is none.
    async fn admit(&mut self) -> Option<ClientJsonRpcMessage> {
        let (message, weight, until) = self.next.as_ref()?;
        if !matches!(**message, JsonRpcMessage::Request(_)) {
            let (message, ..) = self.next.take()?;
            return self.pass(*message);
        }
        let weight = u32::try_from(*weight).unwrap_or(u32::MAX);
        let room = Arc::clone(&self.room).acquire_many_owned(weight);
        let held = timeout_at(*until, room).await;
        let (message, ..) = self.next.take()?;
        let JsonRpcMessage::Request(mut request) = *message else {
            return None;
        };
        let Ok(Ok(held)) = held else {
            self.refuse(Some(request.id), judge::too_many());
            return None;
        };
        if self.open.contains_key(&request.id) {
            self.refuse(None, judge::id_in_use(&request.id));
            return None;
        }
        let after = After::default();
        self.open.insert(request.id.clone(), after.clone());
        let method = request.request.method();
        self.is_begun |= !matches!(method, "server/discover" | "ping");
        let extensions = request.request.extensions_mut();
        let room = Arc::new(held);
        extensions.insert(Held { room, after });
        Some(JsonRpcMessage::Request(request))
    }

    /// Gives a message on that asks nothing.
    fn pass(&mut self, message: ClientJsonRpcMessage) -> Option<ClientJsonRpcMessage> {
        if let JsonRpcMessage::Notification(JsonRpcNotification {
            notification: ClientNotification::CancelledNotification(cancelled),
            ..
        }) = &message
        {
            // What is cancelled is not answered any more.
            if let Some(id) = &cancelled.params.request_id {
                self.open.remove(id);
            }
            // A host that probed gives up on its probe; to the library that is no beginning.
            if !self.is_begun {
                return None;
            }
        }
        Some(message)
    }

    /// Sends an error that nobody else makes.
    fn refuse(&mut self, id: Option<RequestId>, error: ErrorData) {
        while self.own.try_join_next().is_some() {}
        let send = self.put(&JsonRpcMessage::error(error, id), None);
        self.own.spawn(send);
    }

    /// Puts a message in line to be written.
    fn put(
        &mut self,
        message: &TxJsonRpcMessage<RoleServer>,
        act: Option<Act>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static + use<R> {
        let line = serde_json::to_vec(message).map(|mut line| {
            line.push(b'\n');
            line
        });
        // It counts from now on, also where nobody gets to write it for long.
        let bytes = line.as_ref().map_or(0, Vec::len);
        self.unwritten.add(bytes, act.is_some());
        let out = self.out.clone();
        async move {
            let out = out.ok_or_else(|| io::Error::from(ErrorKind::NotConnected))?;
            let sent = out.send(Line { bytes: line?, act }).await;
            sent.map_err(|_| io::Error::from(ErrorKind::BrokenPipe))
        }
    }
}

impl<R: AsyncRead + Send + Unpin + 'static> Transport<RoleServer> for Frames<R> {
    type Error = io::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let answered = match &message {
            JsonRpcMessage::Response(answer) => Some(&answer.id),
            JsonRpcMessage::Error(answer) => answer.id.as_ref(),
            JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => None,
        };
        let after = answered.and_then(|id| self.open.remove(id));
        let act = after.and_then(|after| after.take());
        self.put(&message, act)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            if !self.is_read().await {
                return None;
            }
            if self.next.is_some() {
                match self.admit().await {
                    Some(message) => return Some(message),
                    None => continue,
                }
            }
            match self.frame().await? {
                Verdict::Wrong(id, error) => self.refuse(id, error),
                Verdict::Message(_) | Verdict::Nothing => {}
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        while self.own.join_next().await.is_some() {}
        self.out = None;
        if let Some(writer) = self.writer.take() {
            // It ends with the last line that was sent.
            writer.await.ok();
        }
        Ok(())
    }
}

/// Writes lines until there are no more, or nobody takes them.
async fn write<W: AsyncWrite + Unpin>(
    mut writer: W,
    mut lines: mpsc::Receiver<Line>,
    unwritten: Arc<Unwritten>,
    gone: CancellationToken,
) {
    while let Some(Line { bytes, act }) = lines.recv().await {
        let written = async {
            writer.write_all(&bytes).await?;
            writer.flush().await
        };
        if written.await.is_err() {
            gone.cancel();
            return;
        }
        let had_act = act.is_some();
        if let Some(act) = act {
            // One that fails is done again by whoever needs it.
            spawn_blocking(act).await.ok();
        }
        unwritten.remove(bytes.len(), had_act);
    }
}
