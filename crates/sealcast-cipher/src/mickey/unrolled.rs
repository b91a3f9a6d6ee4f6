//! Loops written out, so that what is constant in them becomes code: the compiler would leave many a loop a loop.

/// Over a few numbers.
macro_rules! each {
    ($i:ident in $($value:literal)*: $body:expr) => {{ $({
        let $i: usize = $value;
        $body
    })* }};
}

/// Over every stage that may be, from the first one on, and as many more as a wave is long.
macro_rules! sweep {
    ($i:ident: $body:expr) => {
        each!(tens in 0 10 20 30 40 50 60 70 80 90 100: each!(ones in 0 1 2 3 4 5 6 7 8 9: {
            let $i = tens + ones;
            $body
        }))
    };
}
