//! Values of Arrow columns of many types as numbers or as texts.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Decimal32Type, Decimal64Type, Decimal128Type, Decimal256Type, Float16Type, Float32Type,
    Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type,
    UInt64Type,
};
use arrow_array::{Array, ArrayRef, Float64Array, PrimitiveArray, StringArray};
use arrow_schema::DataType;
use arrow_select::take::take;

use crate::arrow_columns::Cell;

/// Whether a column of this type holds numbers, and if so whether `f32` holds them exactly.
pub(crate) fn holds_numbers(kind: &DataType) -> Option<bool> {
    use DataType::{Boolean, Dictionary, Float16, Float32, Int8, Int16, Null, UInt8, UInt16};
    match kind {
        Float16 | Float32 | Int8 | Int16 | UInt8 | UInt16 | Boolean | Null => Some(true),
        Dictionary(_, value) => holds_numbers(value),
        kind if kind.is_numeric() => Some(false),
        _ => None,
    }
}

/// The values that a dictionary's keys stand for; of any other array, nothing.
fn looked_up(array: &ArrayRef) -> Option<ArrayRef> {
    let dictionary = array.as_any_dictionary_opt()?;
    take(dictionary.values().as_ref(), dictionary.keys(), None).ok()
}

/// Calls a macro with every type of whole numbers: its name in [`DataType`] and its own.
macro_rules! with_whole_types {
    ($each:ident) => {
        $each!(
            Int8 Int8Type, Int16 Int16Type, Int32 Int32Type, Int64 Int64Type,
            UInt8 UInt8Type, UInt16 UInt16Type, UInt32 UInt32Type, UInt64 UInt64Type
        )
    };
}

/// A column as numbers, missing ones marked in its nulls; nothing if it does not
/// [hold numbers](holds_numbers).
#[expect(clippy::cast_lossless, reason = "one line for whole numbers of every width")]
pub(crate) fn numbers<T: Cell>(array: &ArrayRef) -> Option<PrimitiveArray<T::Arrow>> {
    if let Some(same) = array.as_primitive_opt::<T::Arrow>() {
        return Some(same.clone());
    }
    macro_rules! converted {
        ($($kind:ident $type:ty),+) => {
            match array.data_type() {
                $(DataType::$kind => array.as_primitive::<$type>().unary(|v| T::from_f64(v as f64)),)+
                DataType::Float64 => array.as_primitive::<Float64Type>().unary(T::from_f64),
                DataType::Float32 => {
                    array.as_primitive::<Float32Type>().unary(|v| T::from_f64(f64::from(v)))
                }
                DataType::Float16 => {
                    array.as_primitive::<Float16Type>().unary(|v| T::from_f64(f64::from(v)))
                }
                DataType::Decimal32(_, scale) => {
                    let unit = unit(*scale);
                    array.as_primitive::<Decimal32Type>().unary(|v| T::from_f64(f64::from(v) / unit))
                }
                DataType::Decimal64(_, scale) => {
                    let unit = unit(*scale);
                    array.as_primitive::<Decimal64Type>().unary(|v| T::from_f64(v as f64 / unit))
                }
                DataType::Decimal128(_, scale) => {
                    let unit = unit(*scale);
                    array.as_primitive::<Decimal128Type>().unary(|v| T::from_f64(v as f64 / unit))
                }
                DataType::Decimal256(_, scale) => {
                    let unit = unit(*scale);
                    array.as_primitive::<Decimal256Type>().unary(|v| {
                        // A number of 256 bits is its high half, 2^128 times, and its low one.
                        let (low, high) = v.wrapping_abs().to_parts();
                        let size = (high as f64 * 2f64.powi(128) + low as f64) / unit;
                        T::from_f64(if v.is_negative() { -size } else { size })
                    })
                }
                DataType::Boolean => {
                    let cells = array.as_boolean();
                    cells.iter().map(|v| v.map(|v| T::from_f64(f64::from(v)))).collect()
                }
                DataType::Null => PrimitiveArray::new_null(array.len()),
                _ => return looked_up(array).and_then(|values| numbers::<T>(&values)),
            }
        };
    }
    Some(with_whole_types!(converted))
}

/// How many in the last place of a decimal of this scale make one.
fn unit(scale: i8) -> f64 {
    10f64.powi(i32::from(scale))
}

/// A column as texts; nothing if it holds neither texts nor whole numbers, nor truth values.
pub(crate) fn texts(array: &ArrayRef) -> Option<StringArray> {
    macro_rules! converted {
        ($($kind:ident $type:ty),+) => {
            match array.data_type() {
                DataType::Float16 | DataType::Float32 | DataType::Float64 => {
                    // Whole numbers with a gap are written as floats by pandas: 3.0 is class `3`.
                    let cells: Float64Array = numbers::<f64>(array)?;
                    cells.iter().map(|v| v.filter(|v| !v.is_nan()).map(|v| v.to_string())).collect()
                }
                $(DataType::$kind => {
                    let cells = array.as_primitive::<$type>();
                    cells.iter().map(|v| v.map(|v| v.to_string())).collect()
                })+
                DataType::Utf8 => array.as_string::<i32>().clone(),
                DataType::LargeUtf8 => array.as_string::<i64>().iter().collect(),
                DataType::Utf8View => array.as_string_view().iter().collect(),
                DataType::Boolean => {
                    array.as_boolean().iter().map(|v| v.map(|v| v.to_string())).collect()
                }
                DataType::Null => StringArray::new_null(array.len()),
                _ => return looked_up(array).and_then(|values| texts(&values)),
            }
        };
    }
    Some(with_whole_types!(converted))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use arrow_array::types::Int8Type as Key;
    use arrow_array::{
        BooleanArray, Decimal128Array, Decimal256Array, DictionaryArray, Int64Array,
        LargeStringArray, NullArray, StringViewArray, UInt8Array,
    };
    use arrow_buffer::i256;

    fn as_numbers(array: impl Array + 'static) -> Vec<Option<f64>> {
        let array: ArrayRef = Arc::new(array);
        numbers::<f64>(&array).expect("numbers").iter().collect()
    }

    fn as_texts(array: impl Array + 'static) -> Vec<Option<String>> {
        let array: ArrayRef = Arc::new(array);
        texts(&array).expect("texts").iter().map(|t| t.map(str::to_owned)).collect()
    }

    #[test]
    fn numbers_of_every_kind_come_out_and_gaps_stay() {
        assert_eq!(as_numbers(UInt8Array::from(vec![Some(3), None])), [Some(3.0), None]);
        assert_eq!(as_numbers(Int64Array::from(vec![-9])), [Some(-9.0)]);
        assert_eq!(as_numbers(BooleanArray::from(vec![Some(true), None])), [Some(1.0), None]);
        assert_eq!(as_numbers(NullArray::new(2)), [None, None]);
        let decimal = Decimal128Array::from(vec![1234]).with_precision_and_scale(9, 2);
        assert_eq!(as_numbers(decimal.expect("a scale")), [Some(12.34)]);
        let wide = Decimal256Array::from(vec![i256::from(-5), i256::from_parts(0, 1)]);
        let wide = as_numbers(wide.with_precision_and_scale(76, 0).expect("a scale"));
        assert_eq!(wide, [Some(-5.0), Some(2f64.powi(128))]);
        let keys = PrimitiveArray::<Key>::from(vec![Some(1), None, Some(0)]);
        let values = Arc::new(Int64Array::from(vec![10, 20]));
        assert_eq!(as_numbers(DictionaryArray::new(keys, values)), [Some(20.0), None, Some(10.0)]);
        let words: ArrayRef = Arc::new(StringArray::from(vec!["no number"]));
        assert!(numbers::<f32>(&words).is_none());
    }

    #[test]
    fn classes_of_every_kind_become_texts() {
        assert_eq!(
            as_texts(StringViewArray::from(vec![Some("a"), None])),
            [Some("a".into()), None]
        );
        assert_eq!(as_texts(LargeStringArray::from(vec!["b"])), [Some("b".into())]);
        assert_eq!(as_texts(Float64Array::from(vec![3.0, f64::NAN])), [Some("3".into()), None]);
        assert_eq!(as_texts(Int64Array::from(vec![4])), [Some("4".into())]);
        assert_eq!(as_texts(BooleanArray::from(vec![true])), [Some("true".into())]);
        assert_eq!(as_texts(NullArray::new(1)), [None]);
        let keys = PrimitiveArray::<Key>::from(vec![Some(0), None]);
        let values = Arc::new(StringArray::from(vec!["c"]));
        assert_eq!(as_texts(DictionaryArray::new(keys, values)), [Some("c".into()), None]);
    }
}
