//! Scans a bucket with the widest instructions of the machine. One of the two modules with unsafe code; tests compare
//! each version with the portable one.
#![cfg_attr(
    target_arch = "x86_64",
    expect(unsafe_code, reason = "vector instructions chosen at run time")
)]

use super::bits::Compress;
use super::line::{Form, Line};

/// The instruction set that scans a bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Simd {
    /// The baseline of the target.
    Portable,
    /// x86-64 with AVX2, BMI and POPCNT.
    Avx2,
    /// x86-64 with AVX-512 F, BW, DQ, VBMI and VPOPCNTDQ.
    Avx512,
}

impl Simd {
    /// Returns the best instruction set of this machine.
    pub fn detect() -> Self {
        #[cfg(target_arch = "x86_64")]
        {
            if std::is_x86_feature_detected!("avx512f")
                && std::is_x86_feature_detected!("avx512bw")
                && std::is_x86_feature_detected!("avx512dq")
                && std::is_x86_feature_detected!("avx2")
                && std::is_x86_feature_detected!("bmi1")
                && std::is_x86_feature_detected!("bmi2")
                && std::is_x86_feature_detected!("popcnt")
                && std::is_x86_feature_detected!("avx512vbmi")
                && std::is_x86_feature_detected!("avx512vpopcntdq")
            {
                return Self::Avx512;
            }
            if std::is_x86_feature_detected!("avx2")
                && std::is_x86_feature_detected!("bmi1")
                && std::is_x86_feature_detected!("bmi2")
                && std::is_x86_feature_detected!("popcnt")
            {
                return Self::Avx2;
            }
        }
        Self::Portable
    }

    /// Calls `visit` with each pair of values at two places within `limit` bits.
    pub(crate) fn scan_pairs(self, values: &[u64], limit: u32, visit: &mut dyn FnMut(u64, u64)) {
        struct Pairs<'a>(&'a [u64], u32, &'a mut dyn FnMut(u64, u64));
        impl Kernel for Pairs<'_> {
            type Output = ();
            #[inline(always)]
            fn run<S: Scan>(self, scan: S) {
                let mut rest = self.0;
                while let Some((&first, others)) = rest.split_first() {
                    scan.scan_words(others, first, self.1, &mut |_, other| (self.2)(first, other));
                    rest = others;
                }
            }
        }
        self.run(Pairs(values, limit, visit));
    }

    /// Runs the kernel with this instruction set, or with a lower one that the machine supports.
    #[inline]
    pub(crate) fn run<K: Kernel>(self, kernel: K) -> K::Output {
        #[cfg(target_arch = "x86_64")]
        {
            let level = self.min(detected());
            if level == Self::Avx512 {
                // SAFETY: `detected` has checked every feature that the function is compiled for.
                return unsafe { x86::with_avx512(kernel) };
            }
            if level == Self::Avx2 {
                // SAFETY: as above.
                return unsafe { x86::with_avx2(kernel) };
            }
        }
        kernel.run(Portable)
    }
}

#[cfg(target_arch = "x86_64")]
fn detected() -> Simd {
    static LEVEL: std::sync::OnceLock<Simd> = std::sync::OnceLock::new();
    *LEVEL.get_or_init(Simd::detect)
}

/// Code that is compiled once for each instruction set.
pub(crate) trait Kernel {
    type Output;
    fn run<S: Scan>(self, scan: S) -> Self::Output;
}

/// Searches entries for those near a query.
pub(crate) trait Scan: Copy {
    /// Calls `visit` with place and value of each of `count` entries of `width` bytes at the start of `bytes` that
    /// differs from `query` in at most `limit` bits. Bits of `query` above `width` bytes must be zero. If `width <
    /// 8`, 8 bytes must follow the last entry.
    fn scan(
        self,
        bytes: &[u8],
        count: usize,
        width: usize,
        query: u64,
        limit: u32,
        visit: &mut impl FnMut(usize, u64),
    );

    fn scan_words(self, words: &[u64], query: u64, limit: u32, visit: &mut impl FnMut(usize, u64));

    /// Calls `visit` with each value of a line within `limit` bits of the query, both in the line's encoding.
    fn scan_line(
        self,
        line: &Line,
        form: Form,
        query: u64,
        limit: u32,
        visit: &mut impl FnMut(u64),
    );

    #[inline(always)]
    fn extract(self, compress: &Compress, bits: u64) -> u64 {
        compress.extract(bits)
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Portable;

impl Scan for Portable {
    #[inline(always)]
    fn scan(
        self,
        bytes: &[u8],
        count: usize,
        width: usize,
        query: u64,
        limit: u32,
        visit: &mut impl FnMut(usize, u64),
    ) {
        if width == 8 {
            let (eights, _) = bytes.as_chunks::<8>();
            let eights = eights.get(..count).unwrap_or_default();
            return scan_whole(eights, |eight| u64::from_le_bytes(*eight), query, limit, visit);
        }
        let mask = (1u64 << (8 * width)) - 1;
        for place in 0..count {
            let Some(eight) = bytes.get(place * width..).and_then(|rest| rest.first_chunk::<8>())
            else {
                return;
            };
            let entry = u64::from_le_bytes(*eight) & mask;
            if (entry ^ query).count_ones() <= limit {
                visit(place, entry);
            }
        }
    }

    #[inline(always)]
    fn scan_words(self, words: &[u64], query: u64, limit: u32, visit: &mut impl FnMut(usize, u64)) {
        scan_whole(words, |word| *word, query, limit, visit);
    }

    #[inline(always)]
    fn scan_line(
        self,
        line: &Line,
        form: Form,
        query: u64,
        limit: u32,
        visit: &mut impl FnMut(u64),
    ) {
        let mut values = [0u64; 10];
        for (slot, value) in values.iter_mut().enumerate().take(form.slots()) {
            *value = line.value(form, slot);
        }
        let values = values.get(..line.len(form)).unwrap_or_default();
        scan_whole(values, |value| *value, query, limit, &mut |_, value| visit(value));
    }
}

/// Scans whole values. For small distances it clears the lowest set bit `K` times: at most `K` differing bits leave
/// zero. This is cheaper than counting and vectorises everywhere.
#[inline(always)]
fn scan_whole<T>(
    entries: &[T],
    value: impl Fn(&T) -> u64,
    query: u64,
    limit: u32,
    visit: &mut impl FnMut(usize, u64),
) {
    match limit {
        0 => scan_near(entries, value, |other| other == query, visit),
        1 => scan_near(entries, value, |other| cleared::<1>(query ^ other) == 0, visit),
        2 => scan_near(entries, value, |other| cleared::<2>(query ^ other) == 0, visit),
        3 => scan_near(entries, value, |other| cleared::<3>(query ^ other) == 0, visit),
        _ => scan_near(entries, value, |other| (query ^ other).count_ones() <= limit, visit),
    }
}

#[inline(always)]
fn cleared<const K: u32>(mut bits: u64) -> u64 {
    for _ in 0..K {
        bits &= bits.wrapping_sub(1);
    }
    bits
}

#[inline(always)]
fn scan_near<T>(
    entries: &[T],
    value: impl Fn(&T) -> u64,
    near: impl Fn(u64) -> bool,
    visit: &mut impl FnMut(usize, u64),
) {
    for (number, piece) in entries.chunks(8).enumerate() {
        // Without a branch inside, because nearly no piece has a match.
        if piece.iter().fold(false, |any, entry| any | near(value(entry))) {
            for (place, entry) in piece.iter().enumerate() {
                let entry = value(entry);
                if near(entry) {
                    visit(number * 8 + place, entry);
                }
            }
        }
    }
}

#[inline(always)]
pub(crate) fn prefetch<T>(items: &[T], place: usize) {
    #[cfg(target_arch = "x86_64")]
    if let Some(item) = items.get(place) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch reads nothing, and the pointer is that of a live reference. SSE is part of every x86-64.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(item).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (items, place);
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    use super::{Compress, Form, Kernel, Line, Portable, Scan};

    #[target_feature(
        enable = "avx512f,avx512bw,avx512dq,avx512vbmi,avx512vpopcntdq,avx2,bmi1,bmi2,popcnt"
    )]
    pub(super) fn with_avx512<K: Kernel>(kernel: K) -> K::Output {
        kernel.run(Avx512(()))
    }

    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
    pub(super) fn with_avx2<K: Kernel>(kernel: K) -> K::Output {
        kernel.run(Portable)
    }

    /// Created only by `with_avx512`, so its existence proves that the features are available.
    #[derive(Clone, Copy, Debug)]
    pub(super) struct Avx512(());

    /// For entries of 5, 6 and 7 bytes: the source byte, of 64, of each byte in eight 64-bit values; bytes above the
    /// width are masked out.
    #[expect(clippy::indexing_slicing, reason = "evaluated at compile time")]
    const fn spread(width: usize) -> [u8; 64] {
        let mut index = [0; 64];
        let mut i = 0;
        while i < 64 {
            if i % 8 < width {
                index[i] = (i / 8 * width + i % 8) as u8;
            }
            i += 1;
        }
        index
    }
    static SPREAD: [[u8; 64]; 8] =
        [spread(0), spread(1), spread(2), spread(3), spread(4), spread(5), spread(6), spread(7)];

    impl Scan for Avx512 {
        #[inline(always)]
        fn scan(
            self,
            bytes: &[u8],
            count: usize,
            width: usize,
            query: u64,
            limit: u32,
            visit: &mut impl FnMut(usize, u64),
        ) {
            let Some(bytes) = bytes.get(..count * width) else { return };
            // Dispatches on the width outside of the loop.
            if width == 8 {
                whole(bytes.as_ptr(), count, query, limit, 0, visit);
            } else {
                let width = width & 7;
                let kept = ((1u64 << width) - 1) * 0x0101_0101_0101_0101;
                let Some(row) = SPREAD.get(width) else { return };
                // SAFETY: a row of `SPREAD` has 64 bytes. The features are available.
                let index = unsafe { _mm512_loadu_si512(row.as_ptr().cast()) };
                let mut place = 0;
                while place < count {
                    let lanes = (count - place).min(8);
                    // SAFETY: `place < count`, so this is inside `bytes`. The load is masked to `lanes * width`
                    // bytes; bytes before `start` are masked out and not read.
                    unsafe {
                        let start = bytes.as_ptr().add(place * width);
                        let before = before(start, lanes * width);
                        let taken = ((1u64 << (lanes * width)) - 1) << before;
                        let from = _mm512_add_epi8(index, _mm512_set1_epi8(before as i8));
                        let packed =
                            _mm512_maskz_loadu_epi8(taken, start.wrapping_sub(before).cast());
                        let entries = _mm512_maskz_permutexvar_epi8(kept, from, packed);
                        compare(entries, some(lanes), query, limit, place, visit);
                    }
                    place += 8;
                }
            }
        }

        #[inline(always)]
        fn scan_words(
            self,
            words: &[u64],
            query: u64,
            limit: u32,
            visit: &mut impl FnMut(usize, u64),
        ) {
            // Four at a time for one branch, because matches are rare.
            let (eights, rest) = words.as_chunks::<8>();
            let mut place = 0;
            for four in eights.chunks(4) {
                let mut any = 0;
                for eight in four {
                    // SAFETY: the features are available; eight values are loaded.
                    any |= unsafe { near(_mm512_loadu_epi64(eight.as_ptr().cast()), query, limit) };
                }
                if any != 0 {
                    for (number, eight) in four.iter().enumerate() {
                        // SAFETY: as above.
                        unsafe {
                            let entries = _mm512_loadu_epi64(eight.as_ptr().cast());
                            compare(entries, 0xff, query, limit, place + number * 8, visit);
                        }
                    }
                }
                place += 8 * four.len();
            }
            if !rest.is_empty() {
                let mask = some(rest.len());
                // SAFETY: the features are available; the load is masked to the remaining values.
                unsafe {
                    let entries = _mm512_maskz_loadu_epi64(mask, rest.as_ptr().cast());
                    compare(entries, mask, query, limit, place, visit);
                }
            }
        }

        #[inline(always)]
        fn scan_line(
            self,
            line: &Line,
            form: Form,
            query: u64,
            limit: u32,
            visit: &mut impl FnMut(u64),
        ) {
            // SAFETY: a line is 64 bytes and aligned to 64; a row from `gather` has 64 bytes. The features are
            // available.
            let near = unsafe {
                let words = _mm512_load_si512(std::ptr::from_ref(line).cast());
                if form.is_short() {
                    let row = if form == Form::Short { &SHORT } else { &SHORT_NUMBERED };
                    let index = _mm512_loadu_si512(row.as_ptr().cast());
                    let upper = _mm512_maskz_permutexvar_epi16(0x5555_5555, index, words);
                    let lower = _mm512_xor_si512(words, _mm512_set1_epi32(query as i32));
                    let upper = _mm512_xor_si512(upper, _mm512_set1_epi32((query >> 32) as i32));
                    let count =
                        _mm512_add_epi32(_mm512_popcnt_epi32(lower), _mm512_popcnt_epi32(upper));
                    u32::from(_mm512_cmple_epu32_mask(count, _mm512_set1_epi32(limit as i32)))
                } else {
                    u32::from(near(words, query, limit))
                }
            };
            let near = near & ((1 << line.len(form)) - 1);
            if near != 0 {
                hits_of_line(line, form, near, visit);
            }
        }

        #[inline(always)]
        fn extract(self, compress: &Compress, bits: u64) -> u64 {
            // SAFETY: BMI2 is available.
            unsafe { _pext_u64(bits, compress.mask()) }
        }
    }

    #[cold]
    #[inline(never)]
    fn hits_of_line(line: &Line, form: Form, mut near: u32, visit: &mut impl FnMut(u64)) {
        while near != 0 {
            visit(line.value(form, near.trailing_zeros() as usize));
            near &= near - 1;
        }
    }

    /// For a line whose upper bits begin at the 16-bit half word `first`: the source half word for the lower half of
    /// each word.
    #[expect(clippy::indexing_slicing, reason = "evaluated at compile time")]
    const fn gather(first: usize) -> [u16; 32] {
        let mut index = [0; 32];
        let mut i = 0;
        while i < 16 {
            index[2 * i] = ((first + i) % 32) as u16;
            i += 1;
        }
        index
    }
    static SHORT: [u16; 32] = gather(Form::Short.upper());
    static SHORT_NUMBERED: [u16; 32] = gather(Form::ShortNumbered.upper());

    const LINE: usize = 64;

    #[inline(always)]
    fn some(lanes: usize) -> u8 {
        (0xffu32 >> (8 - lanes)) as u8
    }

    /// Returns how far before `start` a load of up to 64 bytes may begin so that it stays in the cache line of the
    /// first of `length` bytes. 0 if they cross a line. This avoids touching the next line.
    #[inline(always)]
    fn before(start: *const u8, length: usize) -> usize {
        let before = start as usize % LINE;
        if before + length <= LINE { before } else { 0 }
    }

    /// Scans `count` values of eight bytes at `start`; only `Avx512` calls it. The first value has the number
    /// `place`.
    #[inline(always)]
    fn whole(
        start: *const u8,
        count: usize,
        query: u64,
        limit: u32,
        mut place: usize,
        visit: &mut impl FnMut(usize, u64),
    ) {
        let end = place + count;
        let mut start = start;
        while place < end {
            let lanes = (end - place).min(8);
            let before = before(start, 8 * lanes) / 8;
            let mask = some(lanes) << before;
            // SAFETY: the load is masked to `lanes` values from `start` on, reads no others, and needs no alignment.
            // AVX-512 is available.
            unsafe {
                let entries = _mm512_maskz_loadu_epi64(mask, start.wrapping_sub(8 * before).cast());
                compare(entries, mask, query, limit, place.wrapping_sub(before), visit);
            }
            place += 8;
            start = start.wrapping_add(LINE);
        }
    }

    /// Returns a mask of the values within `limit` bits of the query.
    ///
    /// # Safety
    /// AVX-512 F and VPOPCNTDQ must be available.
    #[inline(always)]
    unsafe fn near(entries: __m512i, query: u64, limit: u32) -> u8 {
        // SAFETY: guaranteed by the caller.
        unsafe {
            let differing = _mm512_xor_si512(entries, _mm512_set1_epi64(query as i64));
            let count = _mm512_popcnt_epi64(differing);
            _mm512_cmple_epu64_mask(count, _mm512_set1_epi64(i64::from(limit)))
        }
    }

    /// Reports the values within `limit` bits of the query.
    ///
    /// # Safety
    /// AVX-512 F and VPOPCNTDQ must be available.
    #[inline(always)]
    unsafe fn compare(
        entries: __m512i,
        lane_mask: u8,
        query: u64,
        limit: u32,
        place: usize,
        visit: &mut impl FnMut(usize, u64),
    ) {
        // SAFETY: guaranteed by the caller.
        let near = lane_mask & unsafe { near(entries, query, limit) };
        if near != 0 {
            let mut values = [0u64; 8];
            // SAFETY: guaranteed by the caller; eight values of eight bytes fit into `values`.
            unsafe { _mm512_storeu_si512(values.as_mut_ptr().cast(), entries) };
            hits(&values, near, place, visit);
        }
    }

    /// Kept out of the loop, whose registers it would use.
    #[cold]
    #[inline(never)]
    fn hits(values: &[u64; 8], mut near: u8, place: usize, visit: &mut impl FnMut(usize, u64)) {
        while near != 0 {
            let lane = near.trailing_zeros() as usize;
            if let Some(&value) = values.get(lane) {
                visit(place.wrapping_add(lane), value);
            }
            near &= near - 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    struct Find<'a> {
        entries: &'a [u64],
        width: usize,
        query: u64,
        limit: u32,
        offset: usize,
    }

    impl Kernel for Find<'_> {
        type Output = Vec<(usize, u64)>;
        fn run<S: Scan>(self, scan: S) -> Self::Output {
            let mut bytes: Vec<u8> =
                self.entries.iter().flat_map(|e| e.to_le_bytes()[..self.width].to_vec()).collect();
            bytes.extend([0xff; 8]);
            // At every offset in a cache line.
            let mut room = vec![0xff; bytes.len() + 128];
            let start = room.as_ptr().align_offset(64) + self.offset;
            room[start..start + bytes.len()].copy_from_slice(&bytes);
            let bytes = &room[start..start + bytes.len()];
            let mut found = Vec::new();
            let visit = &mut |place, entry| found.push((place, entry));
            scan.scan(bytes, self.entries.len(), self.width, self.query, self.limit, visit);
            if self.width == 8 {
                let mut words = Vec::new();
                let visit = &mut |place, entry| words.push((place, entry));
                scan.scan_words(self.entries, self.query, self.limit, visit);
                assert_eq!(words, found);
            }
            found
        }
    }

    proptest! {
        #[test]
        fn every_level_finds_what_a_plain_loop_finds(
            seed: u64, flips in prop::collection::vec((0u64..1 << 10, any::<u64>()), 0..100),
            width in 1usize..=8, limit in 0u32..=7, offset in 0usize..64,
        ) {
            let mask = if width == 8 { u64::MAX } else { (1 << (8 * width)) - 1 };
            // Few differing bits, at places that the shift scatters.
            let entries: Vec<u64> = flips.iter()
                .map(|(few, shift)| (seed ^ few.rotate_left((shift % 64) as u32)) & mask).collect();
            let query = seed & mask;
            let expected: Vec<(usize, u64)> = entries.iter().copied().enumerate()
                .filter(|(_, entry)| (entry ^ query).count_ones() <= limit).collect();
            for level in [Simd::Portable, Simd::Avx2, Simd::Avx512] {
                let find = Find { entries: &entries, width, query, limit, offset };
                prop_assert_eq!(level.run(find), expected.clone(), "{:?}", level);
            }
        }
    }
}
