//! Pipes to other programs.

/// Returns whether the program that reads this pipe has ended. A writer notices that only at its next write, which may
/// be hours later. `false` for a file or terminal.
#[cfg(unix)]
pub fn is_closed(output: impl std::os::fd::AsFd) -> bool {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};

    let mut polled = [PollFd::new(&output, PollFlags::empty())];
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    let found = poll(&mut polled, Some(&at_once)).is_ok();
    found && polled.iter().any(|polled| polled.revents().intersects(PollFlags::ERR))
}

/// See the function for Unix.
#[cfg(not(unix))]
pub fn is_closed<T>(_: T) -> bool {
    false
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_pipe_is_closed_when_its_reader_is_gone_and_a_file_never_is() {
        let (reader, writer) = std::io::pipe().unwrap();
        assert!(!is_closed(&writer));
        drop(reader);
        assert!(is_closed(&writer));
        assert!(!is_closed(tempfile::tempfile().unwrap()));
    }
}
