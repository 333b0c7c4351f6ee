//! The server: routes, headers, and the single entry point for changes.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use axum::extract::{Form, Path as UrlPath, Query, Request as HttpRequest, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::{get, post};
use hapax_dedup::Policy;
use maud::Markup;
use serde::Deserialize;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

use super::causes::{self, Advise, Found};
use super::changes::{self, ChangeQuery};
use super::clusters::{ClusterQuery, clusters};
use super::computed::Computed;
use super::events::{MAX_STREAMS, StreamQuery, stream};
use super::guard::Guard;
use super::kept::{KeptQuery, kept};
use super::kept_page::kept_page;
use super::large::{self, Clusters};
use super::lists::{ListQuery, SkipQuery, list, search, skipped};
use super::near::{self, NearQuery};
use super::overview::overview;
use super::page::show;
use super::passages::{self, PassageQuery};
use super::views::{View, error_page};
use crate::local_server;
use hapax_data::{
    Answer, Changes, CurrentTables, Error, LogStats, NearMisses, PassageList, Request, Result,
    Rows, must_hold_pages,
};

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("script.js");
/// Allows only our own style, script, images and form targets, and no framing.
const CONTENT_SECURITY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";
/// Pages rendered at a time, including those for clients that disconnected.
const MAX_DRAWS: usize = 8;
/// The most bytes of a form.
const MAX_FORM: usize = 16 << 10;

/// Carries out a change to the data directory, or says why it is impossible.
pub type Change = dyn Fn(&Path, &Request) -> std::result::Result<Answer, String> + Send + Sync;

/// The local page about one or more data directories.
pub struct Inspect {
    pub(super) dirs: Vec<PathBuf>,
    pub(super) policy: Policy,
    /// Log and tables of each directory.
    opened: Mutex<(Vec<Rows>, Vec<CurrentTables>)>,
    change: Box<Change>,
    advise: Arc<Advise>,
    stats: Computed<LogStats>,
    clusters: Computed<Clusters>,
    causes: Computed<Vec<Found>>,
    near: Computed<Vec<NearMisses>>,
    passages: Computed<Vec<PassageList>>,
    changes: Computed<Vec<Changes>>,
    draws: Arc<Semaphore>,
    streams: Arc<Semaphore>,
}

impl std::fmt::Debug for Inspect {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Inspect").field("dirs", &self.dirs).finish_non_exhaustive()
    }
}

/// The state that every page needs.
#[derive(Debug)]
struct App {
    inspect: Inspect,
    guard: Guard,
}

impl Inspect {
    /// Opens the logs of data directories that are shown as one. `policy` has the thresholds that charts mark.
    ///
    /// # Errors
    /// One is not a data directory with pages, or its log is damaged.
    pub fn open(
        dirs: &[PathBuf],
        policy: Policy,
        change: Box<Change>,
        advise: Arc<Advise>,
    ) -> Result<Self> {
        let mut rows = Vec::new();
        for data in dirs {
            must_hold_pages(data)?;
            rows.push(Rows::open(data)?);
        }
        let tables = dirs.iter().map(|_| CurrentTables::default()).collect();
        Ok(Self {
            dirs: dirs.to_vec(),
            policy,
            opened: Mutex::new((rows, tables)),
            change,
            advise,
            stats: Computed::default(),
            clusters: Computed::default(),
            causes: Computed::default(),
            near: Computed::default(),
            passages: Computed::default(),
            changes: Computed::default(),
            draws: Arc::new(Semaphore::new(MAX_DRAWS)),
            streams: Arc::new(Semaphore::new(MAX_STREAMS)),
        })
    }

    /// Answers requests until `shutdown` resolves. Must listen on a loopback address, because the page has no login.
    ///
    /// # Errors
    /// The listener's address is unknown or not a loopback address.
    pub async fn serve(
        self,
        listener: TcpListener,
        shutdown: impl Future<Output = ()>,
    ) -> Result<()> {
        let address = listener.local_addr()?;
        if !address.ip().is_loopback() {
            return Err(Error::Invalid(format!("{address} is not a loopback address")));
        }
        let app = App { guard: Guard::new(address), inspect: self };
        local_server::serve(listener, router(Arc::new(app)), shutdown).await;
        Ok(())
    }
}

fn router(app: Arc<App>) -> axum::Router {
    axum::Router::new()
        .route("/", get(home))
        .route("/list", get(rows_page))
        .route("/clusters", get(clusters_page))
        .route("/page/{id}", get(pair_page))
        .route("/kept", get(kept_list))
        .route("/kept/{id}", get(one_kept_page))
        .route("/causes", get(causes_page))
        .route("/near", get(near_page))
        .route("/passages", get(passages_page))
        .route("/changes", get(changes_page))
        .route("/skipped", get(skipped_page))
        .route("/search", get(search_page))
        .route("/stream", get(stream_page))
        .route("/change", post(change_page))
        .route("/style.css", get(async || ([(header::CONTENT_TYPE, "text/css")], STYLE)))
        .route("/script.js", get(async || ([(header::CONTENT_TYPE, "text/javascript")], SCRIPT)))
        .fallback(async || {
            let page = error_page("There is no such page.");
            (StatusCode::NOT_FOUND, html(page)).into_response()
        })
        .layer(axum::middleware::from_fn_with_state(Arc::clone(&app), protect))
        .layer(axum::extract::DefaultBodyLimit::max(MAX_FORM))
        .with_state(app)
}

/// Refuses requests with a foreign host name or from other sites, and adds security headers to every response.
async fn protect(State(app): State<Arc<App>>, request: HttpRequest, next: Next) -> Response {
    let (method, path) = (request.method(), request.uri().path());
    let mut response = if !app.guard.knows_host(request.headers()) {
        (StatusCode::MISDIRECTED_REQUEST, "This host name does not belong here.\n").into_response()
    } else if !app.guard.may_ask(method, path, request.headers()) {
        (StatusCode::FORBIDDEN, "A page of another site made this request.\n").into_response()
    } else {
        next.run(request).await
    };
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CONTENT_SECURITY_POLICY, CONTENT_SECURITY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        // With `no-referrer`, browsers would send `Origin: null` for our own forms.
        (header::REFERRER_POLICY, "same-origin"),
        (header::CACHE_CONTROL, "no-store"),
        // Other sites' pages may not load our resources or keep a handle of our window.
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

fn html(page: Markup) -> Response {
    ([(header::CONTENT_TYPE, "text/html; charset=utf-8")], page.into_string()).into_response()
}

impl App {
    /// Renders a page with the current rows.
    async fn render(
        self: Arc<Self>,
        draw: impl FnOnce(&Self, View<'_>) -> Result<Markup> + Send + 'static,
    ) -> Response {
        self.draw(move |app| {
            let mut opened = app.inspect.opened.lock().unwrap_or_else(PoisonError::into_inner);
            let (rows, tables) = &mut *opened;
            for ((rows, tables), data) in rows.iter_mut().zip(&mut *tables).zip(&app.inspect.dirs) {
                rows.refresh(data)?;
                tables.refresh(data);
            }
            draw(app, View { dirs: &app.inspect.dirs, rows, tables })
        })
        .await
    }

    /// Renders a page that does not need the rows, which a page that waits for a result would lock.
    async fn draw(
        self: Arc<Self>,
        draw: impl FnOnce(&Self) -> Result<Markup> + Send + 'static,
    ) -> Response {
        // The job holds the permit, so a client that disconnects early cannot start another job.
        let Ok(permit) = Arc::clone(&self.inspect.draws).acquire_owned().await else {
            return StatusCode::SERVICE_UNAVAILABLE.into_response();
        };
        let drawn = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            draw(&self)
        });
        match drawn.await {
            Ok(Ok(page)) => html(page),
            Ok(Err(error)) => failed(&with_causes(&error)),
            Err(_) => {
                (StatusCode::INTERNAL_SERVER_ERROR, "drawing this page failed\n").into_response()
            }
        }
    }
}

fn failed(message: &str) -> Response {
    (StatusCode::BAD_REQUEST, html(error_page(message))).into_response()
}

/// An error and its causes.
fn with_causes(error: &Error) -> String {
    let mut message = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        message += &format!(": {error}");
        cause = error.source();
    }
    message
}

async fn home(State(app): State<Arc<App>>) -> Response {
    app.render(|app, view| {
        let inspect = &app.inspect;
        overview(large::stats(&inspect.stats, view)?, &inspect.dirs, &inspect.policy)
    })
    .await
}

async fn rows_page(State(app): State<Arc<App>>, Query(query): Query<ListQuery>) -> Response {
    app.render(move |_, view| list(view, &query)).await
}

async fn clusters_page(State(app): State<Arc<App>>, Query(query): Query<ClusterQuery>) -> Response {
    app.render(move |app, view| {
        clusters(large::clusters(&app.inspect.clusters, view)?, view, query)
    })
    .await
}

async fn kept_list(State(app): State<Arc<App>>, Query(query): Query<KeptQuery>) -> Response {
    app.render(move |_, view| kept(view, &query)).await
}

async fn one_kept_page(
    State(app): State<Arc<App>>,
    UrlPath(id): UrlPath<u64>,
    Query(done): Query<Done>,
) -> Response {
    app.render(move |app, view| {
        kept_page(view, (done.dir, id), large::clusters(&app.inspect.clusters, view)?)
    })
    .await
}

async fn causes_page(State(app): State<Arc<App>>) -> Response {
    app.draw(|app| {
        let inspect = &app.inspect;
        let found = causes::found(&inspect.causes, &inspect.dirs, &inspect.advise);
        causes::causes(found, &inspect.dirs)
    })
    .await
}

async fn near_page(State(app): State<Arc<App>>, Query(query): Query<NearQuery>) -> Response {
    app.draw(move |app| {
        let inspect = &app.inspect;
        let found = near::found(&inspect.near, &inspect.dirs);
        near::near(found, &inspect.dirs, &query)
    })
    .await
}

async fn passages_page(State(app): State<Arc<App>>, Query(query): Query<PassageQuery>) -> Response {
    app.draw(move |app| passages::passages(&app.inspect.passages, &app.inspect.dirs, &query)).await
}

async fn changes_page(State(app): State<Arc<App>>, Query(query): Query<ChangeQuery>) -> Response {
    app.draw(move |app| {
        let inspect = &app.inspect;
        let found = changes::found(&inspect.changes, &inspect.dirs, &query)?;
        changes::changes(found, &inspect.dirs, &query)
    })
    .await
}

#[derive(Debug, Default, Deserialize)]
struct Done {
    done: Option<String>,
    /// Number of the directory.
    #[serde(default)]
    dir: usize,
}

async fn pair_page(
    State(app): State<Arc<App>>,
    UrlPath(id): UrlPath<u64>,
    Query(done): Query<Done>,
) -> Response {
    app.render(move |app, view| show(view, (done.dir, id), done.done.as_deref(), &app.guard.token))
        .await
}

async fn skipped_page(State(app): State<Arc<App>>, Query(query): Query<SkipQuery>) -> Response {
    app.render(move |_, view| Ok(skipped(view, &query))).await
}

#[derive(Debug, Default, Deserialize)]
struct SearchQuery {
    #[serde(default)]
    q: String,
}

async fn search_page(State(app): State<Arc<App>>, Query(query): Query<SearchQuery>) -> Response {
    app.render(move |_, view| search(view, &query.q)).await
}

async fn stream_page(
    State(app): State<Arc<App>>,
    headers: HeaderMap,
    Query(query): Query<StreamQuery>,
) -> Response {
    let streams = Arc::clone(&app.inspect.streams);
    stream(app.inspect.dirs.clone(), streams, &query, &headers).await
}

#[derive(Debug, Deserialize)]
struct ChangeForm {
    token: String,
    action: String,
    id: u64,
    #[serde(default)]
    dir: usize,
}

async fn change_page(
    State(app): State<Arc<App>>,
    headers: HeaderMap,
    Form(form): Form<ChangeForm>,
) -> Response {
    if !app.guard.trusts(&headers, &form.token) {
        let page = error_page(
            "This change was not asked for by a page of this server: open the page again.",
        );
        return (StatusCode::FORBIDDEN, html(page)).into_response();
    }
    let ids = vec![form.id];
    let request = match form.action.as_str() {
        "restore" => Request::Restore { ids },
        "discard" => Request::Discard { ids },
        "keep" => Request::Keep { ids },
        _ => return failed("there is no such change"),
    };
    let Some(data) = app.inspect.dirs.get(form.dir).cloned() else {
        return failed("there is no such data directory");
    };
    let answer = tokio::task::spawn_blocking(move || (app.inspect.change)(&data, &request)).await;
    match answer {
        Ok(Ok(answer)) => match answer.not.first() {
            None => {
                let dir = if form.dir > 0 { format!("dir={}&", form.dir) } else { String::new() };
                Redirect::to(&format!("/page/{}?{dir}done={}", form.id, form.action))
                    .into_response()
            }
            Some(why) => failed(&format!("not done: {why}")),
        },
        Ok(Err(error)) => failed(&error),
        Err(_) => (StatusCode::INTERNAL_SERVER_ERROR, "the change failed\n").into_response(),
    }
}
