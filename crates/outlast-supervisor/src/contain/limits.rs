//! Binds the limits that a run asks for by the best that is there, and says by what.

use super::cgroup::{Counted, Group, Places};
use outlast_journal::{Containment, Guarantee, LimitBound, Network, RunId};
use std::collections::BTreeMap;
use std::io;

/// What counts among the processes of a run and is ours: process 1.
const OWN: u64 = 1;
/// What leads to allowed hosts is ours too: a process, and threads for a few connections.
const OWN_FORWARDING: u64 = 8;

/// The limits of one run as they are bound.
#[derive(Debug, Default)]
pub(crate) struct Bound {
    groups: Vec<Group>,
    /// Processes that are ours and are counted with the run's own.
    own_processes: u64,
    /// Index of the group that counts memory.
    memory_group: Option<usize>,
    /// Most processes, where the launcher is to bound them itself.
    pub(super) pids_max: Option<u64>,
    /// Most memory in bytes, where the supervisor is to look after it itself.
    pub(crate) watched_memory_bytes: Option<u64>,
    /// By name.
    pub(super) told: BTreeMap<String, LimitBound>,
}

impl Bound {
    /// Binds what is asked for.
    ///
    /// # Errors
    ///
    /// Fails with the name of a limit that nothing here can enforce.
    pub(super) fn bind(
        asked: &Containment,
        run: &RunId,
    ) -> Result<Self, (&'static str, io::Error)> {
        Self::bind_in(&Places::read(), asked, run)
    }

    /// Binds it without cgroups, for a launcher that cannot be taken into one in time.
    ///
    /// # Errors
    ///
    /// As `bind`.
    pub(super) fn without_groups(
        asked: &Containment,
        run: &RunId,
    ) -> Result<Self, (&'static str, io::Error)> {
        Self::bind_in(&Places::default(), asked, run)
    }

    /// Returns what an engine is to bind, which refuses the run if it cannot.
    pub(super) fn by_engine(asked: &Containment) -> Self {
        let mut bound = Self::default();
        let all = [
            ("memory", asked.memory_bytes_max),
            ("pids", asked.pids_max),
            ("cpu", asked.cpu_milli_max),
        ];
        for (name, most) in all {
            if let Some(most) = most {
                bound.tell(name, most, "engine");
            }
        }
        bound
    }

    fn bind_in(
        places: &Places,
        asked: &Containment,
        run: &RunId,
    ) -> Result<Self, (&'static str, io::Error)> {
        let is_forwarded = matches!(asked.network, Network::Allow(_));
        let mut bound = Self {
            own_processes: if is_forwarded {
                OWN + OWN_FORWARDING
            } else {
                OWN
            },
            ..Self::default()
        };
        let all = [
            (Counted::Memory, "memory", asked.memory_bytes_max),
            (Counted::Pids, "pids", asked.pids_max),
            (Counted::Cpu, "cpu", asked.cpu_milli_max),
        ];
        if all.iter().all(|(_, _, most)| most.is_none()) {
            return Ok(bound);
        }
        for (counted, name, most) in all {
            if let Some(most) = most {
                bound.bind_one(places, run, (counted, name), most)?;
            }
        }
        Ok(bound)
    }

    fn bind_one(
        &mut self,
        places: &Places,
        run: &RunId,
        (counted, name): (Counted, &'static str),
        most: u64,
    ) -> Result<(), (&'static str, io::Error)> {
        let own = if counted == Counted::Pids {
            self.own_processes
        } else {
            0
        };
        let counted_most = most + own;
        let mut why = io::Error::from(io::ErrorKind::Unsupported);
        for parent in places.parents(counted) {
            match Group::bind(&parent, run, counted, counted_most) {
                Ok(group) => {
                    let by = group.name();
                    if counted == Counted::Memory {
                        self.memory_group = Some(self.groups.len());
                    }
                    self.groups.push(group);
                    self.tell(name, most, by);
                    return Ok(());
                }
                Err(error) => why = error,
            }
        }
        match counted {
            Counted::Memory => {
                self.watched_memory_bytes = Some(most);
                self.tell(name, most, "watchdog");
            }
            Counted::Pids => {
                self.pids_max = Some(counted_most);
                self.tell(name, most, "rlimit");
            }
            Counted::Cpu => return Err((name, why)),
        }
        Ok(())
    }

    fn tell(&mut self, name: &str, value: u64, by: &str) {
        let limit = LimitBound {
            value,
            enforced_by: by.to_owned(),
        };
        self.told.insert(name.to_owned(), limit);
    }

    /// Whether the launcher must be taken in before it goes on.
    pub(super) fn has_groups(&self) -> bool {
        !self.groups.is_empty()
    }

    /// Takes the launcher into the groups, before it has started anything.
    pub(super) fn take(&self, pid: i32) -> io::Result<()> {
        self.groups.iter().try_for_each(|group| group.take(pid))
    }

    /// Leaves the groups to the supervisor of the run, whose other calls are in them.
    pub(crate) fn leave(&mut self) {
        self.groups.iter_mut().for_each(Group::leave);
    }

    /// What holds of the run by these limits.
    pub(super) fn guarantees(&self) -> Vec<Guarantee> {
        let named = [
            ("memory", Guarantee::MemLimit),
            ("pids", Guarantee::PidsLimit),
        ];
        let bound = named.into_iter();
        let bound = bound.filter(|(name, _)| self.told.contains_key(*name));
        bound.map(|(_, guarantee)| guarantee).collect()
    }

    /// How often the kernel has killed something of the run for want of memory.
    pub(crate) fn memory_kills(&self) -> u64 {
        let group = self.memory_group.and_then(|index| self.groups.get(index));
        group.map_or(0, Group::memory_kills)
    }
}

#[cfg(test)]
mod tests;
