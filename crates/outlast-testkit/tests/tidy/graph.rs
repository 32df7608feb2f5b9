//! The packages of the workspace and what links what, as cargo resolves it.

use std::{
    collections::{BTreeMap, BTreeSet},
    process::Command,
};

use serde_json::Value;

use crate::root;

/// One package, ours or another's.
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) version: String,
    /// The SPDX expression of its manifest.
    pub(crate) licence: Option<String>,
    /// Names of the packages that its manifest has under `[dependencies]`.
    pub(crate) direct: BTreeSet<String>,
    /// Ids of the packages that are linked into it, one step.
    links: Vec<String>,
}

/// Everything the workspace uses, by cargo's package id.
pub(crate) struct Graph {
    pub(crate) packages: BTreeMap<String, Package>,
    /// Ids of the packages that are ours.
    pub(crate) ours: BTreeSet<String>,
}

impl Graph {
    /// Asks cargo, for every platform.
    pub(crate) fn of_all_platforms() -> Self {
        Self::read(&[])
    }

    /// Asks cargo, for the platform that it was built on.
    pub(crate) fn of_this_platform() -> Self {
        Self::read(&["--filter-platform", "host-tuple"])
    }

    fn read(options: &[&str]) -> Self {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let output = Command::new(cargo)
            .args(["metadata", "--format-version=1", "--locked"])
            .args(options)
            .current_dir(root())
            .output()
            .unwrap();
        let words = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "cargo metadata: {words}");
        Self::from_metadata(&serde_json::from_slice(&output.stdout).unwrap())
    }

    fn from_metadata(metadata: &Value) -> Self {
        let mut links: BTreeMap<&str, Vec<String>> = list(&metadata["resolve"]["nodes"])
            .map(|node| (text(&node["id"]), linked(node)))
            .collect();
        let packages = list(&metadata["packages"]).map(|package| {
            let id = text(&package["id"]);
            let links = links.remove(id).unwrap_or_default();
            (id.to_owned(), package_of(package, links))
        });
        let ours = list(&metadata["workspace_members"]).map(|id| text(id).to_owned());
        Self {
            packages: packages.collect(),
            ours: ours.collect(),
        }
    }

    /// The package of ours that has this name.
    pub(crate) fn ours(&self, name: &str) -> &str {
        let is_it = |id: &&String| self.packages[*id].name == name;
        let found = self.ours.iter().find(is_it);
        found.unwrap_or_else(|| panic!("no crate `{name}` in the workspace"))
    }

    /// The ids of everything that is linked into `id`, itself included.
    pub(crate) fn linked_into<'a>(&'a self, id: &'a str) -> BTreeSet<&'a str> {
        let mut found = BTreeSet::new();
        let mut next = vec![id];
        while let Some(id) = next.pop() {
            if found.insert(id) {
                next.extend(self.packages[id].links.iter().map(String::as_str));
            }
        }
        found
    }
}

fn package_of(package: &Value, links: Vec<String>) -> Package {
    let direct = list(&package["dependencies"])
        .filter(|dependency| dependency["kind"].is_null())
        .map(|dependency| text(&dependency["name"]).to_owned());
    Package {
        name: text(&package["name"]).to_owned(),
        version: text(&package["version"]).to_owned(),
        licence: package["license"].as_str().map(str::to_owned),
        direct: direct.collect(),
        links,
    }
}

/// What a node links: neither what only its tests nor what only its build needs.
fn linked(node: &Value) -> Vec<String> {
    let is_normal = |edge: &Value| list(&edge["dep_kinds"]).any(|kind| kind["kind"].is_null());
    let edges = list(&node["deps"]).filter(|edge| is_normal(edge));
    edges.map(|edge| text(&edge["pkg"]).to_owned()).collect()
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().unwrap().iter()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}
