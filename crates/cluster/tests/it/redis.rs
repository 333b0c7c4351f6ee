//! A real cluster on loopback: three masters and three replicas in a temporary folder.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Running servers; dropping it ends them.
pub(crate) struct RedisCluster {
    folder: tempfile::TempDir,
    nodes: Vec<(u16, Option<Child>)>,
}

/// Returns free ports whose bus ports, 10,000 above, are free too. Never returns a port twice in this process: nodes
/// would take a new server for a dead one.
fn ports(count: usize) -> Vec<u16> {
    static NEXT: std::sync::Mutex<u16> = std::sync::Mutex::new(0);
    let mut next = NEXT.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let mut found = Vec::new();
    let seed = std::process::id() as u16;
    for _ in 0..2000 {
        let step = *next;
        *next += 1;
        let port = 12_000 + seed.wrapping_mul(37).wrapping_add(step * 7) % 20_000;
        let free = |port: u16| std::net::TcpListener::bind(("127.0.0.1", port)).is_ok();
        if !found.contains(&port) && free(port) && free(port + 10_000) {
            found.push(port);
            if found.len() == count {
                return found;
            }
        }
    }
    panic!("no free ports");
}

impl RedisCluster {
    /// Returns `None` and prints a notice if redis-server is missing; panics in CI.
    pub(crate) fn start() -> Option<Self> {
        let there = Command::new("redis-server").arg("--version").output().is_ok();
        if !there {
            assert!(std::env::var_os("CI").is_none(), "redis-server is missing");
            eprintln!("SKIPPED: redis-server is missing; install it to test the cluster");
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        let ports = ports(6);
        let mut cluster = Self { folder, nodes: ports.iter().map(|port| (*port, None)).collect() };
        (0..6).for_each(|node| cluster.start_node(node));
        let nodes = ports.iter().map(|port| format!("127.0.0.1:{port}"));
        let made = Command::new("redis-cli")
            .args(["--cluster", "create"])
            .args(nodes)
            .args(["--cluster-replicas", "1", "--cluster-yes"])
            .output()
            .unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stdout));
        cluster.wait_until_ok();
        Some(cluster)
    }

    pub(crate) fn start_node(&mut self, node: usize) {
        let port = self.nodes[node].0;
        let folder = self.path(node);
        std::fs::create_dir_all(&folder).unwrap();
        // The server ends with this process, even after a crash.
        let child = Command::new("sh")
            .args(["-c", "redis-server \"$@\" & read end; kill -9 $!; wait", "redis"])
            .args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--cluster-enabled", "yes"])
            .args(["--cluster-node-timeout", "2000", "--appendonly", "yes", "--save", ""])
            .args(["--appendfsync", "everysec", "--repl-diskless-sync-delay", "0"])
            .args(["--dir", folder.to_str().unwrap()])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        self.nodes[node].1 = Some(child);
        let began = Instant::now();
        while std::net::TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(began.elapsed() < Duration::from_secs(20), "redis-server does not come up");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn path(&self, node: usize) -> PathBuf {
        Path::new(self.folder.path()).join(node.to_string())
    }

    pub(crate) fn kill(&mut self, node: usize) {
        if let Some(mut child) = self.nodes[node].1.take() {
            drop(child.stdin.take());
            child.wait().unwrap();
        }
    }

    pub(crate) fn address(&self) -> String {
        let nodes: Vec<String> =
            self.nodes.iter().map(|(port, _)| format!("127.0.0.1:{port}")).collect();
        format!("redis://{}", nodes.join(","))
    }

    /// Runs a command on one node and returns its output.
    pub(crate) fn cli(&self, node: usize, command: &[&str]) -> String {
        let port = self.nodes[node].0.to_string();
        let out = Command::new("redis-cli").args(["-p", &port]).args(command).output().unwrap();
        String::from_utf8_lossy(&out.stdout).into_owned()
    }

    pub(crate) fn wait_until_ok(&self) {
        let began = Instant::now();
        // A replica takes over only from a master that it was connected to.
        let linked = |node: usize| {
            let role = self.cli(node, &["role"]);
            role.starts_with("master") || role.contains("connected")
        };
        let ok = |node: usize| {
            self.cli(node, &["cluster", "info"]).contains("cluster_state:ok") && linked(node)
        };
        while !(0..6).filter(|&node| self.nodes[node].1.is_some()).all(ok) {
            assert!(began.elapsed() < Duration::from_secs(30), "the cluster does not come up");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    pub(crate) fn masters(&self) -> Vec<usize> {
        let is = |node: &usize| {
            self.nodes[*node].1.is_some() && self.cli(*node, &["role"]).starts_with("master")
        };
        (0..6).filter(is).collect()
    }
}

impl Drop for RedisCluster {
    fn drop(&mut self) {
        (0..self.nodes.len()).for_each(|node| self.kill(node));
    }
}
