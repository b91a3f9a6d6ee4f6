//! Consequences of the declaration of an option: its place in the configuration, and in the list of all.

/// Declares the sections of the configuration and their options.
macro_rules! options {
    ($($(#[doc = $about:literal])+ $section:ident: $Section:ident {
        $($(#[doc = $help:literal])+ $key:ident: $type:ty { $more:expr })*
    })*) => {
        /// The effective options, or those of a configuration file over the defaults.
        #[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
        #[serde(default, deny_unknown_fields)]
        pub struct Config {
            $($(#[doc = $about])+ pub $section: $Section,)*
            /// The cameras.
            pub camera: Vec<Camera>,
        }

        impl Config {
            /// Paths of the options in which two differ, without those of cameras.
            pub(crate) fn differing(&self, other: &Self) -> Vec<&'static str> {
                let mut paths = Vec::new();
                $($(if self.$section.$key != other.$section.$key {
                    paths.push(concat!(stringify!($section), ".", stringify!($key)));
                })*)*
                paths
            }
        }

        $($(#[doc = $about])+
        #[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
        #[serde(default, deny_unknown_fields)]
        pub struct $Section {
            $($(#[doc = $help])+ pub $key: $type,)*
        }

        impl Default for $Section {
            fn default() -> Self {
                Self { $($key: default_of(OPTIONS, concat!(stringify!($section), ".", stringify!($key))),)* }
            }
        })*

        /// The sections with their meanings, in the order of the example file.
        pub const SECTIONS: &[(&str, &str)] = &[$((stringify!($section), concat!($($about),+))),*];

        /// Every option, in the order of the example file.
        pub static OPTIONS: &[Opt] = &[$($(Opt {
            section: stringify!($section),
            key: stringify!($key),
            path: concat!(stringify!($section), ".", stringify!($key)),
            help: concat!($($help),+).trim_ascii_start(),
            kind: <$type as Setting>::KIND,
            accepts: accepts::<$type>,
            ..$more
        },)*)* Opt {
            kind: <Vec<Camera> as Setting>::KIND,
            accepts: accepts::<Vec<Camera>>,
            ..camera::CAMERAS
        }];
    };
}

pub(super) use options;
