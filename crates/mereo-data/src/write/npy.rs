//! Tables as `NumPy` arrays.

use std::path::Path;

use mereo_core::{Result, Table, write_atomically};

use super::for_each_row;
use crate::arrow_columns::Cell;

/// Writes `[rows, columns]`, or `[rows, height, width]` and `[rows, height, width, channels]`
/// if the rows are pictures.
pub(super) fn write<T: Cell>(path: &Path, table: &Table<T>) -> Result<()> {
    let shape = match table.about().picture {
        Some(p) if p.channels == 1 => vec![table.rows(), p.height, p.width],
        Some(p) => vec![table.rows(), p.height, p.width, p.channels],
        None => vec![table.rows(), table.columns()],
    };
    write_atomically(path, |out| {
        out.write_all(&header::<T>(&shape))?;
        for_each_row(table, |_, cells| out.write_all(bytemuck::cast_slice(cells)))
    })
}

fn header<T>(shape: &[usize]) -> Vec<u8> {
    let order = if cfg!(target_endian = "little") { '<' } else { '>' };
    let shape: Vec<String> = shape.iter().map(ToString::to_string).collect();
    let text = format!(
        "{{'descr': '{order}f{}', 'fortran_order': False, 'shape': ({}), }}",
        size_of::<T>(),
        shape.join(", ")
    );
    // Magic, version 1.0, length; then text, filled up so that the numbers are well aligned.
    let length = (10 + text.len() + 1).next_multiple_of(64) - 10;
    let mut header = b"\x93NUMPY\x01\x00".to_vec();
    header.extend((length as u16).to_le_bytes());
    header.extend(text.bytes());
    header.resize(10 + length - 1, b' ');
    header.push(b'\n');
    header
}

#[cfg(test)]
mod tests {
    use mereo_core::{Dense, Picture};

    use super::*;

    #[test]
    fn pictures_have_their_shape() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.npy");
        for (channels, shape) in [(1, vec![1, 2, 3]), (3, vec![1, 2, 3, 3])] {
            let values: Vec<f32> = (0..6 * channels).map(|i| i as f32).collect();
            let table = Table::from(Dense::new(1, values.len(), values.clone()).unwrap())
                .with_picture(Picture { height: 2, width: 3, channels })
                .unwrap();
            write(&path, &table).unwrap();
            let bytes = std::fs::read(&path).unwrap();
            let array = npyz::NpyFile::new(&bytes[..]).unwrap();
            assert_eq!(array.shape(), shape);
            assert_eq!(array.into_vec::<f32>().unwrap(), values);
        }
    }
}
