//! Unrolled loops, so that constants in them become code. The compiler would not unroll many of them.

/// Clocks per sweep. The values of more clocks would not fit into the processor's registers.
pub(super) const CLOCKS: usize = 4;

/// Over a few literal numbers.
macro_rules! each {
    ($i:ident in $($value:literal)*: $body:expr) => {{ $({
        let $i: usize = $value;
        $body
    })* }};
}

/// Over every possible stage from the first on, and as many more as a wave is long.
macro_rules! sweep {
    ($i:ident: $body:expr) => {
        each!(tens in 0 10 20 30 40 50 60 70 80 90 100: each!(ones in 0 1 2 3 4 5 6 7 8 9: {
            let $i = tens + ones;
            $body
        }))
    };
}
