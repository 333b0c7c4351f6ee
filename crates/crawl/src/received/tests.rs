use super::super::answer::tests::answer;
use super::*;

struct Bench {
    folder: tempfile::TempDir,
    fetcher: Fetcher,
}

impl Bench {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self { folder, fetcher: Fetcher::new(hapax_fetch::Options::default()).unwrap() }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("received")
    }

    fn open(&self) -> Arc<Received> {
        self.open_if(&|_| true)
    }

    fn open_if(&self, may_come: &dyn Fn(&str) -> bool) -> Arc<Received> {
        Arc::new(Received::open(self.path(), &hapax_fetch::Options::default(), may_come))
    }

    fn files(&self) -> usize {
        std::fs::read_dir(self.path()).map_or(0, Iterator::count)
    }

    async fn take(&self, received: &Received, url: &str) -> Option<String> {
        let (entry, before) = answer(url, 200, "");
        let found = received.take(&entry, &self.fetcher).await?;
        assert_eq!(found.response.request, before.response.request);
        assert_eq!((found.time, found.took), (before.time, before.took));
        Some(String::from_utf8(found.response.body.to_vec()).unwrap())
    }
}

const A: &str = "http://a.example/";
const B: &str = "http://b.example/";

async fn keep(received: &Arc<Received>, url: &str, body: &str) {
    let (entry, answer) = answer(url, 200, body);
    received.keep(&entry, &answer).await;
}

fn finish(received: &Received, url: &str) {
    received.finish(&answer(url, 200, "").0);
}

fn bytes(received: &Received) -> u64 {
    received.with(|state| state.bytes)
}

#[tokio::test]
async fn an_uncommitted_answer_survives_a_kill_and_is_used_once() {
    let bench = Bench::new();
    let received = bench.open();
    for (url, body) in [(A, "one"), (B, "two"), (A, "three")] {
        keep(&received, url, body).await;
    }
    drop(received);
    let received = bench.open();
    assert_eq!(bench.take(&received, A).await.as_deref(), Some("three"), "the newest");
    assert_eq!(bench.take(&received, A).await, None);
    assert_eq!(bench.take(&received, "http://c.example/").await, None);
    // Killed again before a commit.
    drop(received);
    let received = bench.open();
    assert_eq!(bench.take(&received, A).await.as_deref(), Some("three"));
    assert_eq!(bench.take(&received, B).await.as_deref(), Some("two"));
    for url in [A, B] {
        assert_eq!(bench.files(), 1, "{url}");
        finish(&received, url);
    }
    assert_eq!(bench.files(), 1, "finished is not committed");
    received.committed();
    assert_eq!((bench.files(), bytes(&received)), (0, 0));
}

#[tokio::test]
async fn a_commit_removes_what_is_finished_and_keeps_the_rest() {
    let bench = Bench::new();
    let received = bench.open();
    keep(&received, A, "one").await;
    keep(&received, B, "two").await;
    finish(&received, A);
    received.committed();
    keep(&received, A, "three").await;
    assert_eq!(bench.files(), 2);
    finish(&received, B);
    received.committed();
    assert_eq!(bench.files(), 1, "of the first file nothing is needed any more");
    drop(received);
    let received = bench.open();
    assert_eq!(bench.take(&received, A).await.as_deref(), Some("three"));
    assert_eq!(bench.take(&received, B).await, None);
}

#[tokio::test]
async fn answers_committed_by_an_earlier_run_keep_no_file() {
    let bench = Bench::new();
    for finished_unasked in [false, true] {
        let received = bench.open();
        keep(&received, A, "one").await;
        keep(&received, B, "two").await;
        finish(&received, A);
        received.committed();
        drop(received);
        // Killed. A is done; B is queued, and is leased again or refused now.
        let received = bench.open_if(&|url| url == B);
        assert_eq!(bench.take(&received, A).await, None);
        if !finished_unasked {
            assert_eq!(bench.take(&received, B).await.as_deref(), Some("two"));
        }
        finish(&received, B);
        received.committed();
        assert_eq!((bench.files(), bytes(&received)), (0, 0));
    }
    let received = bench.open();
    keep(&received, A, "one").await;
    drop(received);
    assert_eq!(bytes(&bench.open_if(&|_| false)), 0);
    assert_eq!(bench.files(), 0, "nothing in it waits");
}

#[tokio::test]
async fn a_file_that_was_cut_or_changed_gives_what_is_whole_and_nothing_else() {
    let bench = Bench::new();
    let received = bench.open();
    keep(&received, A, "one").await;
    let first = bytes(&received) as usize + HEADER.len() + REQUEST_FINGERPRINT;
    keep(&received, B, "two").await;
    drop(received);
    let path = bench.path().join("0");
    let whole = std::fs::read(&path).unwrap();
    let write = |bytes: &[u8]| {
        std::fs::create_dir_all(bench.path()).unwrap();
        std::fs::write(&path, bytes).unwrap();
    };
    for cut in 0..whole.len() {
        write(&whole[..cut]);
        let received = bench.open();
        assert_eq!(bench.take(&received, B).await, None, "{cut}");
        let expected = (cut >= first).then_some("one");
        assert_eq!(bench.take(&received, A).await.as_deref(), expected, "{cut}");
        received.clear();
    }
    for at in 0..whole.len() {
        let mut changed = whole.clone();
        changed[at] ^= 0x20;
        write(&changed);
        let received = bench.open();
        let both = [bench.take(&received, A).await, bench.take(&received, B).await];
        assert!(both[0].as_deref().is_none_or(|text| text == "one"), "{at}");
        assert!(both[1].as_deref().is_none_or(|text| text == "two"), "{at}");
        assert!(both.contains(&None), "{at}");
        assert!(at < first || both[0].is_some(), "{at}");
        received.clear();
    }
}

#[tokio::test]
async fn foreign_files_are_left_alone_and_answers_to_other_requests_are_not_used() {
    let bench = Bench::new();
    std::fs::create_dir(bench.path()).unwrap();
    for name in ["7", "007", "notes"] {
        std::fs::write(bench.path().join(name), "From a friend, a letter").unwrap();
    }
    std::fs::create_dir(bench.path().join("8")).unwrap();
    let pipe = std::process::Command::new("mkfifo").arg(bench.path().join("9")).status();
    let others = if pipe.is_ok_and(|status| status.success()) { 5 } else { 4 };
    let received = bench.open();
    keep(&received, A, "one").await;
    assert_eq!(bench.files(), others + 1);
    drop(received);
    let known = hapax_fetch::Options { cookies: true, ..hapax_fetch::Options::default() };
    let received = Received::open(bench.path(), &known, &|_| true);
    assert_eq!(bench.take(&received, A).await, None);
    received.clear();
    assert_eq!(bench.files(), others);
}

#[tokio::test]
async fn a_frame_longer_than_all_that_is_kept_is_not_looked_at() {
    let bench = Bench::new();
    let received = bench.open();
    keep(&received, A, "one").await;
    drop(received);
    let path = bench.path().join("0");
    let mut long = std::fs::read(&path).unwrap();
    let at = HEADER.len() + REQUEST_FINGERPRINT;
    long[at..at + 4].copy_from_slice(&(MAX_BYTES as u32 + 1).to_le_bytes());
    std::fs::write(&path, long).unwrap();
    // A sparse file of the length in the frame.
    File::options().write(true).open(&path).unwrap().set_len(2 * MAX_BYTES).unwrap();
    let received = bench.open();
    assert_eq!((bench.files(), bytes(&received)), (0, 0));
}

#[tokio::test]
async fn saved_answers_have_a_size_limit_and_an_unusable_folder_is_no_error() {
    let bench = Bench::new();
    let mut received = Received { max_bytes: 2_000, ..Arc::into_inner(bench.open()).unwrap() };
    let limited = Arc::new(received);
    for number in 0..100 {
        keep(&limited, &format!("http://a.example/{number}"), "some text").await;
    }
    let kept = bytes(&limited);
    assert!((1_000..=2_000).contains(&kept), "{kept}");
    limited.clear();
    // A file where the folder should be.
    std::fs::write(bench.path(), "").unwrap();
    received = Arc::into_inner(bench.open()).unwrap();
    let received = Arc::new(received);
    keep(&received, A, "one").await;
    assert_eq!(bytes(&received), 0);
}

#[tokio::test]
async fn a_saved_compressed_body_is_decoded_unless_it_exceeds_the_limit() {
    let bench = Bench::new();
    let (entry, mut packed) = answer(A, 200, "text that was packed");
    let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    out.write_all(b"text that was packed").unwrap();
    packed.response.raw = out.finish().unwrap().into();
    packed.response.headers.push(("content-encoding".to_owned(), b"gzip".to_vec()));
    let received = bench.open();
    received.keep(&entry, &packed).await;
    keep(&received, B, "a body of twenty-four by").await;
    drop(received);
    let received = bench.open();
    assert_eq!(bench.take(&received, A).await.as_deref(), Some("text that was packed"));
    let limits = hapax_fetch::Limits { max_body: 20, ..hapax_fetch::Limits::default() };
    let options = hapax_fetch::Options { limits, ..hapax_fetch::Options::default() };
    let strict = Bench { fetcher: Fetcher::new(options).unwrap(), ..bench };
    assert_eq!(strict.take(&received, B).await, None);
    received.finish(&entry);
    received.committed();
    assert_eq!(strict.files(), 0, "what nobody can use is not kept");
}
