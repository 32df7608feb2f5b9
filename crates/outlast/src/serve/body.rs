//! Reads the body of a request whole, within bounds of size, time and memory.

use crate::failure::{Failure, exit};
use http_body_util::BodyExt;
use hyper::body::{Body, Bytes, Incoming};
use outlast_lib::{Advice, limits};
use std::{sync::Arc, time::Duration};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::timeout,
};

/// Bytes in which room is given out.
const UNIT: usize = 1 << 10;

/// What is left of a body that is too long is heard out up to this, so that the answer arrives.
const HEARD_BYTES_MAX: usize = 8 * limits::HTTP_BODY_BYTES_MAX;

/// Room for the bodies that are held at once.
pub(super) struct Room(Arc<Semaphore>);

/// A body, and the room that it takes until it is dropped.
pub(super) struct Held {
    /// The body.
    pub(super) bytes: Bytes,
    /// Its room.
    _room: OwnedSemaphorePermit,
}

impl Room {
    /// Makes room for `HTTP_BODIES_BYTES_MAX`.
    pub(super) fn new() -> Self {
        Self(Arc::new(Semaphore::new(
            limits::HTTP_BODIES_BYTES_MAX / UNIT,
        )))
    }

    /// Reads a body.
    ///
    /// # Errors
    ///
    /// Fails when it is too long, does not come within `HTTP_BODY_MS`, or breaks off.
    pub(super) async fn read(&self, body: Incoming) -> Result<Held, Failure> {
        let limit = Duration::from_millis(limits::HTTP_BODY_MS);
        let read = timeout(limit, self.read_all(body)).await;
        let read = read.unwrap_or(Err(BodyError::Slow));
        read.map_err(|error| Failure::new(&error, exit::USAGE))
    }

    async fn read_all(&self, mut body: Incoming) -> Result<Held, BodyError> {
        let hint = body.size_hint();
        let exact = hint
            .exact()
            .map(|bytes| usize::try_from(bytes).unwrap_or(usize::MAX));
        let most = exact.unwrap_or(limits::HTTP_BODY_BYTES_MAX);
        if most > limits::HTTP_BODY_BYTES_MAX {
            return Err(hear_out(body, 0).await);
        }
        let units = u32::try_from(most.div_ceil(UNIT)).unwrap_or(u32::MAX);
        let room = Arc::clone(&self.0).acquire_many_owned(units).await;
        let room = room.map_err(|_| BodyError::Broken)?;
        let mut bytes = Vec::with_capacity(exact.unwrap_or(0));
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|_| BodyError::Broken)?;
            let Ok(part) = frame.into_data() else {
                continue;
            };
            if bytes.len() + part.len() > limits::HTTP_BODY_BYTES_MAX {
                return Err(hear_out(body, bytes.len() + part.len()).await);
            }
            bytes.extend_from_slice(&part);
        }
        Ok(Held {
            bytes: bytes.into(),
            _room: room,
        })
    }
}

/// Passes over the rest of a body: a client that still writes does not read the answer.
async fn hear_out(mut body: Incoming, already: usize) -> BodyError {
    let mut heard = already;
    while let Some(Ok(frame)) = body.frame().await {
        heard += frame.data_ref().map_or(0, Bytes::len);
        if heard > HEARD_BYTES_MAX {
            break;
        }
    }
    BodyError::TooLong
}

/// Why a body was not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub(super) enum BodyError {
    /// It has more bytes than it may.
    #[error("the body has more than {} bytes", limits::HTTP_BODY_BYTES_MAX)]
    TooLong,
    /// It did not come in time.
    #[error("the body did not come within {} s", limits::HTTP_BODY_MS / 1_000)]
    Slow,
    /// It broke off.
    #[error("the body broke off")]
    Broken,
}

impl Advice for BodyError {
    fn code(&self) -> &'static str {
        match self {
            Self::TooLong => "body_too_long",
            Self::Slow => "body_too_slow",
            Self::Broken => "body_broken",
        }
    }

    fn hint(&self) -> String {
        let hint = match self {
            Self::TooLong => "write long data into a file and name that",
            Self::Slow => "send the whole body at once",
            Self::Broken => "send the request again",
        };
        hint.to_owned()
    }
}
