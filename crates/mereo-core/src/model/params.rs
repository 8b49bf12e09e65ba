//! What users choose for a model: documented structs, from which the program's options and the
//! keyword arguments of other front ends are made.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Error, Result};

/// What was chosen, by name.
pub type Options = serde_json::Map<String, Value>;

/// What values an option takes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "type", content = "choices")]
pub enum ParamType {
    /// A whole number from 0 up.
    Count,
    /// Any number.
    Number,
    /// Yes or no.
    Flag,
    /// One of these words.
    Choice(Vec<&'static str>),
    /// A whole number, or one of these words.
    CountOr(Vec<&'static str>),
    /// A list of whole numbers.
    Counts,
    /// A list of such words.
    Choices(Vec<&'static str>),
    /// Any text.
    Text,
}

/// Something that an option can be.
pub trait ParamValue {
    /// What values it takes.
    fn param_type() -> ParamType;
}

impl ParamValue for usize {
    fn param_type() -> ParamType {
        ParamType::Count
    }
}

impl ParamValue for f64 {
    fn param_type() -> ParamType {
        ParamType::Number
    }
}

impl ParamValue for bool {
    fn param_type() -> ParamType {
        ParamType::Flag
    }
}

impl ParamValue for String {
    fn param_type() -> ParamType {
        ParamType::Text
    }
}

impl<V: ParamValue> ParamValue for Option<V> {
    fn param_type() -> ParamType {
        V::param_type()
    }
}

impl<V: ParamValue> ParamValue for Vec<V> {
    fn param_type() -> ParamType {
        match V::param_type() {
            ParamType::Choice(words) => ParamType::Choices(words),
            _ => ParamType::Counts,
        }
    }
}

/// A whole number, or `auto` for one to be found.
///
/// ```
/// use mereo_core::Size;
/// let sizes: Vec<Size> = serde_json::from_str(r#"[3, "auto"]"#).unwrap();
/// assert_eq!(sizes, [Size::Of(3), Size::Auto]);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Size {
    /// This many.
    Of(usize),
    /// As many as are found to be best.
    #[serde(with = "auto")]
    Auto,
}

impl Size {
    /// The number, if it was said.
    pub fn given(self) -> Option<usize> {
        match self {
            Self::Of(size) => Some(size),
            Self::Auto => None,
        }
    }
}

impl ParamValue for Size {
    fn param_type() -> ParamType {
        ParamType::CountOr(vec!["auto"])
    }
}

/// The word `auto`.
mod auto {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(super) fn serialize<S: Serializer>(serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str("auto")
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<(), D::Error> {
        match String::deserialize(deserializer)?.as_str() {
            "auto" => Ok(()),
            other => Err(D::Error::custom(format!("`{other}` is neither a number nor auto"))),
        }
    }
}

/// One thing that a user can choose.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ParamInfo {
    /// Its name, with underscores.
    pub name: &'static str,
    /// What values it takes.
    #[serde(flatten)]
    pub kind: ParamType,
    /// What it is if nobody says; nothing if somebody must, null if it depends on the rest.
    pub default: Option<Value>,
    /// What it means.
    pub about: String,
}

impl ParamInfo {
    /// Its name as an option of a program.
    ///
    /// ```
    /// mereo_core::params! {
    ///     /// An example.
    ///     pub struct Example {
    ///         /// How many to begin with.
    ///         pub first_ones: usize = 3;
    ///     }
    /// }
    /// let info = &Example::declared()[0];
    /// assert_eq!((info.option(), info.about.as_str()), ("first-ones".to_owned(), "How many to begin with."));
    /// ```
    pub fn option(&self) -> String {
        self.name.replace('_', "-")
    }
}

/// What users choose for a model of one kind.
pub trait Params:
    Clone + std::fmt::Debug + Send + Sync + Serialize + DeserializeOwned + 'static
{
    /// The model that they are for.
    type Model: super::Model<Params = Self>;

    /// How many starts are tried if nobody says.
    const RESTARTS: usize = 1;

    /// Whether a column in smaller units has more of a say.
    const UNITS_MATTER: bool = false;

    /// Everything that can be chosen.
    fn declared() -> Vec<ParamInfo>;

    /// What was chosen, with defaults for the rest.
    fn from_options(options: &Options) -> Result<Self> {
        read_options(&Self::declared(), options)
    }

    /// Whether a model like this can be learned at all.
    fn check(&self) -> Result<()> {
        Ok(())
    }

    /// About how many vectors over the columns are learned, and the option to blame if they are
    /// more than memory holds.
    fn vectors(&self, _columns: usize) -> (&'static str, usize) {
        ("size", 1)
    }

    /// Whether columns of words can be learned from; columns that cannot are left out.
    fn takes_words(&self) -> bool {
        false
    }

    /// Whether rows must have labels to learn from.
    fn wants_labels(&self) -> bool {
        false
    }

    /// Whether models of this kind can learn from rows that come in [portions](crate::Portions), with some options at least.
    const IN_PORTIONS: bool = false;

    /// Whether a model like this can.
    fn in_portions(&self) -> bool {
        Self::IN_PORTIONS
    }

    /// Whether ratings are better predicted if the means of rows and columns are taken away first: the model has no number of its own
    /// for people who rate high or low throughout.
    fn wants_means_removed(&self) -> bool {
        false
    }
}

/// Reads a struct of [`params!`](crate::params) from what was chosen; what was not is at its default.
///
/// ```
/// mereo_core::params! {
///     /// An example.
///     pub struct Example {
///         /// How many.
///         pub states: usize;
///         /// How far.
///         pub reach: f64 = 0.5;
///     }
/// }
/// let chosen = serde_json::from_str(r#"{"states": 4}"#).unwrap();
/// let example: Example = mereo_core::read_options(&Example::declared(), &chosen)?;
/// assert_eq!((example.states, example.reach), (4, 0.5));
/// let none = mereo_core::read_options::<Example>(&Example::declared(), &Default::default());
/// assert!(none.unwrap_err().to_string().contains("states"));
/// # Ok::<(), mereo_core::Error>(())
/// ```
pub fn read_options<P: DeserializeOwned>(declared: &[ParamInfo], chosen: &Options) -> Result<P> {
    let mut all = Options::new();
    for info in declared {
        match chosen.get(info.name).or(info.default.as_ref()) {
            Some(value) => all.insert(info.name.to_owned(), value.clone()),
            None => return Err(Error::option(info.option(), "it must be given")),
        };
    }
    if let Some(name) = chosen.keys().find(|name| !all.contains_key(*name)) {
        let known: Vec<_> = declared.iter().map(ParamInfo::option).collect();
        let problem = format!("there is no such option; the options are {}", known.join(", "));
        return Err(Error::option(name.replace('_', "-"), problem));
    }
    // One by one first, so that a wrong value is told by its name.
    serde_json::from_value(Value::Object(all.clone())).map_err(|whole| {
        let mut defaults = all.clone();
        for info in declared {
            if let (Some(_), Some(default)) = (chosen.get(info.name), &info.default) {
                let given = defaults.insert(info.name.to_owned(), default.clone());
                if serde_json::from_value::<P>(Value::Object(defaults.clone())).is_ok() {
                    return Error::option(
                        info.option(),
                        format!("{}: {whole}", given.unwrap_or_default()),
                    );
                }
            }
        }
        Error::option("options", whole)
    })
}

/// Text of documentation comments as one paragraph.
#[doc(hidden)]
pub fn about_of(lines: &[&str]) -> String {
    lines.iter().map(|line| line.trim()).collect::<Vec<_>>().join(" ")
}

/// Defines a documented struct of what users choose, with its defaults in this one place: those after
/// `=`. A field without a default must be chosen. `declared()` lists the fields for front ends.
///
/// ```
/// mereo_core::params! {
///     /// The size of something.
///     pub struct Something {
///         /// Number of states.
///         pub states: usize;
///         /// The smallest variance.
///         pub variance_floor: f64 = 1e-3;
///     }
/// }
/// assert_eq!(Something::declared()[1].default, Some(serde_json::json!(1e-3)));
/// ```
#[macro_export]
macro_rules! params {
    (
        $(#[$about:meta])*
        pub struct $name:ident {
            $(
                $(#[doc = $doc:literal])*
                $(#[serde($($serde:tt)*)])*
                pub $field:ident: $type:ty $(= $default:expr)?;
            )*
        }
    ) => {
        $(#[$about])*
        #[derive(Debug, Clone, PartialEq, $crate::serde::Serialize, $crate::serde::Deserialize)]
        #[serde(crate = "mereo_core::serde")]
        pub struct $name {
            $(
                $(#[doc = $doc])*
                $(#[serde($($serde)*)])*
                pub $field: $type,
            )*
        }

        impl $name {
            /// Everything that can be chosen, with defaults.
            pub fn declared() -> Vec<$crate::ParamInfo> {
                vec![$(
                    $crate::ParamInfo {
                        name: stringify!($field),
                        kind: <$type as $crate::ParamValue>::param_type(),
                        default: $crate::params!(@default $type $(, $default)?),
                        about: $crate::about_of(&[$($doc),*]),
                    },
                )*]
            }
        }
    };
    (@default $type:ty) => { None };
    (@default $type:ty, $default:expr) => {{
        let default: $type = $default;
        $crate::serde_json::to_value(default).ok()
    }};
}

/// Gives an enum the names that users choose it by.
///
/// ```
/// #[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
/// #[serde(rename_all = "kebab-case")]
/// pub enum Colour { Red, DarkBlue }
/// mereo_core::choices!(Colour, "colour": Red = "red", DarkBlue = "dark-blue");
/// assert_eq!("dark-blue".parse::<Colour>().unwrap(), Colour::DarkBlue);
/// assert_eq!(Colour::Red.name(), "red");
/// assert!("green".parse::<Colour>().unwrap_err().to_string().contains("red, dark-blue"));
/// ```
#[macro_export]
macro_rules! choices {
    ($type:ty, $option:literal: $($variant:ident = $name:literal),+ $(,)?) => {
        impl $type {
            /// The names, as they are parsed.
            pub const NAMES: [&'static str; [$($name),+].len()] = [$($name),+];

            /// Its name.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                }
            }
        }

        impl std::str::FromStr for $type {
            type Err = $crate::Error;

            fn from_str(text: &str) -> $crate::Result<Self> {
                match text {
                    $($name => Ok(Self::$variant),)+
                    _ => {
                        let names = Self::NAMES.join(", ");
                        let problem = format!("`{text}` is not known; choose {names}");
                        Err($crate::Error::option($option, problem))
                    }
                }
            }
        }

        impl $crate::ParamValue for $type {
            fn param_type() -> $crate::ParamType {
                $crate::ParamType::Choice(Self::NAMES.to_vec())
            }
        }
    };
}
