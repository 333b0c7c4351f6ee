//! The bytes of tables: on the heap, in a memory-mapped file, or in huge pages.

use std::ops::Deref;

/// From this size on a buffer requests huge pages: look-ups touch lines all over it, and each would miss the TLB.
#[cfg(feature = "mmap")]
const HUGE_FROM: usize = 4 << 20;

/// Read-only bytes.
#[derive(Debug)]
pub(crate) enum Buffer {
    Heap(Vec<u8>),
    #[cfg(feature = "mmap")]
    Anonymous(memmap2::MmapMut),
    #[cfg(feature = "mmap")]
    File(memmap2::Mmap),
}

impl Buffer {
    /// Returns zeroed bytes, in huge pages if they help and the system has them.
    pub(crate) fn zeroed(length: usize) -> Self {
        #[cfg(feature = "mmap")]
        if length >= HUGE_FROM
            && let Ok(map) = memmap2::MmapMut::map_anon(length)
        {
            #[cfg(target_os = "linux")]
            let _ = map.advise(memmap2::Advice::HugePage);
            return Self::Anonymous(map);
        }
        Self::Heap(vec![0; length])
    }

    /// Returns the bytes for writing; empty for a mapped file.
    pub(crate) fn as_mut(&mut self) -> &mut [u8] {
        match self {
            Self::Heap(bytes) => bytes,
            #[cfg(feature = "mmap")]
            Self::Anonymous(map) => map,
            #[cfg(feature = "mmap")]
            Self::File(_) => &mut [],
        }
    }
}

impl Deref for Buffer {
    type Target = [u8];
    #[inline(always)]
    fn deref(&self) -> &[u8] {
        match self {
            Self::Heap(bytes) => bytes,
            #[cfg(feature = "mmap")]
            Self::Anonymous(map) => map,
            #[cfg(feature = "mmap")]
            Self::File(map) => map,
        }
    }
}
