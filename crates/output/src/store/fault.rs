//! Errors of a store, for people: what failed and what to do. No message has a secret.

use std::error::Error as StdError;

use object_store::client::HttpError;

use super::limits::MAX_MESSAGE;
use crate::error::StoreFault;

/// Explains an error. `secrets` are removed from the store's message, which may repeat parts of a request.
pub(crate) fn explain(
    error: &object_store::Error,
    attempts: usize,
    secrets: &[String],
) -> (StoreFault, String) {
    // The text has the answer of the store. Only the code and the message are taken from it.
    let text = error.to_string();
    let code = between(&text, "<Code>", "</Code>").map(|code| plain(code, secrets));
    let status = between(&text, "status code: ", " ").and_then(|status| status.parse::<u16>().ok());
    let message = between(&text, "<Message>", "</Message>").map(|text| plain(text, secrets));
    let answer = match (&code, status) {
        (Some(code), _) => code.clone(),
        (None, Some(status)) => format!("status {status}"),
        (None, None) => String::new(),
    };
    let said = message.filter(|message| !message.is_empty()).map(|text| format!(": {text}"));
    let said = said.unwrap_or_default();
    let is_transport = cause::<HttpError>(error).is_some();
    match (code.as_deref(), status) {
        (Some("NoSuchBucket"), _) => (
            StoreFault::Bucket,
            "the bucket does not exist. Create it, or correct its name".to_owned(),
        ),
        (
            Some(
                "PermanentRedirect"
                | "AuthorizationHeaderMalformed"
                | "IllegalLocationConstraintException",
            ),
            _,
        )
        | (_, Some(300..=399)) => (
            StoreFault::Region,
            format!(
                "the bucket is in another region ({answer}). Set AWS_REGION to its region{said}"
            ),
        ),
        _ if text.contains("Received redirect without LOCATION") => (
            StoreFault::Region,
            "the bucket is in another region. Set AWS_REGION to its region".to_owned(),
        ),
        (Some("RequestTimeTooSkewed"), _) => (
            StoreFault::Refused,
            "the store refused the request because this machine's clock is wrong. Set it"
                .to_owned(),
        ),
        (Some("ExpiredToken" | "InvalidToken" | "TokenRefreshRequired"), _)
        | (_, Some(401 | 403)) => (
            StoreFault::Refused,
            format!(
                "the store refused the credentials ({answer}){said}. Check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY \
                 and AWS_SESSION_TOKEN; the key needs the rights to list, read, write and delete objects"
            ),
        ),
        (_, Some(408 | 429 | 500..=599)) => (
            StoreFault::Lost,
            format!(
                "the store failed {attempts} times ({answer}){said}. Run the same command later"
            ),
        ),
        _ if is_transport => (
            StoreFault::Lost,
            format!(
                "the store does not answer ({}). Check AWS_ENDPOINT_URL, AWS_REGION and the network, then run the \
                 same command",
                plain(&root(error), &[])
            ),
        ),
        _ if !answer.is_empty() => {
            (StoreFault::Answer, format!("the store refused the request ({answer}){said}"))
        }
        _ => (
            StoreFault::Answer,
            format!("the answer of the store is not one of S3: {}", plain(&root(error), secrets)),
        ),
    }
}

fn between<'a>(text: &'a str, begin: &str, end: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(begin)?;
    rest.split_once(end).map(|(found, _)| found)
}

/// Removes secrets and control characters, and shortens the text.
fn plain(text: &str, secrets: &[String]) -> String {
    let mut text = text.to_owned();
    for secret in secrets {
        text = text.replace(secret.as_str(), "***");
    }
    text.chars().filter(|letter| !letter.is_control()).take(MAX_MESSAGE).collect()
}

/// Returns the text of the last cause.
fn root(error: &dyn StdError) -> String {
    let mut last = error;
    while let Some(source) = last.source() {
        last = source;
    }
    last.to_string()
}

fn cause<'a, T: StdError + 'static>(error: &'a (dyn StdError + 'static)) -> Option<&'a T> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(found) = error.downcast_ref::<T>() {
            return Some(found);
        }
        next = error.source();
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn explained(answer: &str) -> (StoreFault, String) {
        let error = object_store::Error::Generic { store: "S3", source: answer.into() };
        explain(&error, 3, &["s3cr3t".to_owned(), "t0ken".to_owned()])
    }

    #[test]
    fn an_answer_becomes_a_fault_with_advice_and_without_secrets() {
        let answer = |status: u16, code: &str, message: &str| {
            format!(
                "Server returned non-2xx status code: {status} X: <Error><Code>{code}</Code><Message>{message}</Message>\
                 <CanonicalRequest>x-amz-security-token:t0ken</CanonicalRequest></Error>"
            )
        };
        for (status, code, fault, advice) in [
            (404, "NoSuchBucket", StoreFault::Bucket, "does not exist"),
            (403, "SignatureDoesNotMatch", StoreFault::Refused, "AWS_SECRET_ACCESS_KEY"),
            (403, "AccessDenied", StoreFault::Refused, "rights to list"),
            (400, "ExpiredToken", StoreFault::Refused, "AWS_SESSION_TOKEN"),
            (403, "RequestTimeTooSkewed", StoreFault::Refused, "clock"),
            (400, "AuthorizationHeaderMalformed", StoreFault::Region, "AWS_REGION"),
            (301, "PermanentRedirect", StoreFault::Region, "AWS_REGION"),
            (503, "SlowDown", StoreFault::Lost, "3 times (SlowDown)"),
            (400, "EntityTooLarge", StoreFault::Answer, "EntityTooLarge"),
        ] {
            let (found, problem) = explained(&answer(status, code, "s3cr3t \u{1b}[31m and t0ken"));
            assert_eq!(found, fault, "{code}: {problem}");
            assert!(problem.contains(advice), "{code}: {problem}");
            assert!(!problem.contains("s3cr3t") && !problem.contains("t0ken"), "{problem}");
            assert!(!problem.contains('\u{1b}'), "{problem}");
        }
        let long = explained(&answer(400, "Other", &"x".repeat(100_000))).1;
        assert!(long.len() < 2 * MAX_MESSAGE, "{long}");
        let (fault, problem) = explained("<html>not a store</html>");
        assert_eq!(fault, StoreFault::Answer);
        assert!(problem.contains("not one of S3"), "{problem}");
    }
}
