//! What can be chosen for every model that is learned by steps: its code, its networks, and how steps are taken.

/// [`params!`](mereo_core::params) for such a model: `code`, `encoder` and `decoder` stand before its own options and those of
/// mini-batches behind them. Every option has a default, so that the struct has one as well.
macro_rules! params_by_steps {
    (
        $(#[$about:meta])*
        pub struct $name:ident {
            $($own:tt)*
        }
    ) => {
        params_by_steps! { @whole
            $(#[$about])*
            pub struct $name {
                /// Numbers in a row's code; may be more than there are columns [default: a quarter of the columns, at
                /// least 1 and at most 32].
                pub code: Option<usize> = None;
                /// The encoder's hidden layers, as in "conv 16x3/2, relu, dense 64, relu" [default: dense 256, relu,
                /// dense 128, relu].
                pub encoder: Option<String> = None;
                /// The decoder's hidden layers, from the code on [default: the encoder's mirror].
                pub decoder: Option<String> = None;
                $($own)*
                /// Most passes over the rows [default: as --passes].
                pub epochs: Option<usize> = None;
                /// Rows in a step.
                pub batch: usize = 128;
                /// How steps are made of gradients.
                pub optimiser: Optimiser = Optimiser::Adam;
                /// How long steps are.
                pub rate: f64 = 1e-3;
                /// How much of the last step the next goes on with, of sgd.
                pub momentum: f64 = 0.9;
                /// How the rate falls while learning goes on.
                pub schedule: RateSchedule = RateSchedule::Constant;
                /// The share of each parameter that decays at a rate of 1.
                pub weight_decay: f64 = 0.0;
                /// The share of rows that nothing is learned from and that say when to stop.
                pub held_out: f64 = 0.0;
                /// Stop when rows held out gained nothing for so many passes.
                pub patience: usize = 10;
            }
        }
    };
    (@whole
        $(#[$about:meta])*
        pub struct $name:ident {
            $(
                $(#[doc = $doc:literal])*
                pub $field:ident: $type:ty = $default:expr;
            )*
        }
    ) => {
        mereo_core::params! {
            $(#[$about])*
            pub struct $name {
                $(
                    $(#[doc = $doc])*
                    pub $field: $type = $default;
                )*
            }
        }

        impl Default for $name {
            fn default() -> Self {
                Self { $($field: $default,)* }
            }
        }

        impl $name {
            /// A code of so many numbers, and everything else at its default.
            pub fn new(code: usize) -> Self {
                Self { code: Some(code), ..Self::default() }
            }

            /// Numbers in the code of rows of so many columns.
            ///
            /// ```
            #[doc = concat!("use mereo_neural::", stringify!($name), ";")]
            #[doc = concat!("assert_eq!(", stringify!($name), "::default().code_of(784), 32);")]
            #[doc = concat!("assert_eq!(", stringify!($name), "::default().code_of(5), 2);")]
            /// ```
            pub fn code_of(&self, columns: usize) -> usize {
                self.code.unwrap_or_else(|| columns.div_ceil(4).clamp(1, 32))
            }

            /// Complains about networks or steps that cannot be.
            fn check_steps(&self) -> Result<()> {
                if !self.code.is_none_or(|code| (1..=1 << 20).contains(&code)) {
                    return Err(Error::option("code", "a number from 1 to 1048576 is needed"));
                }
                crate::describe::check("encoder", self.encoder.as_deref())?;
                crate::describe::check("decoder", self.decoder.as_deref())?;
                self.pace().check()
            }

            pub(super) fn pace(&self) -> crate::optimise::Pace {
                crate::optimise::Pace {
                    optimiser: self.optimiser,
                    rate: self.rate,
                    momentum: self.momentum,
                    schedule: self.schedule,
                    weight_decay: self.weight_decay,
                    batch: self.batch,
                    held_out: self.held_out,
                    patience: self.patience,
                }
            }
        }
    };
}
