//! Small files that are right, to be made wrong.

mod binary;
mod columnar;
mod models;

use std::io::Write;

use crate::mutate::{Random, mutate};
use crate::targets::Target;

/// The files that a target starts from.
pub(crate) struct Seeds {
    target: Target,
    files: Vec<Vec<u8>>,
}

impl Seeds {
    pub(crate) fn of(target: Target) -> Self {
        let text = |texts: &[&str]| texts.iter().map(|t| t.as_bytes().to_vec()).collect();
        let files = match target {
            Target::Csv => text(&[
                "a,b,\"c\nd\"\n1,2,NA\n3,-4.5e3,?\n",
                " 1  2\t3 \r\n4 5 6\r\n",
                "x;y;label\n1.5;2;cat\n3;;dog\n",
                "h\t\"w \"\"x\"\"\"\n1\tnan\n2\t7\n\n",
                "\"\",\"sex\",\"n\",\"born\"\n\"1\",\"m\",3,2001-02-03\n\"2\",\"f\",0,1999-12-31\n\"3\",\"m\",NA,\n",
                "price;share;ok\n$1.234,50;12%;yes\n$7,00;3%;NO\n$1,25;;no\n",
            ]),
            Target::Xlsx => binary::workbooks(),
            Target::Ratings => text(&[
                "1\t2\t3\t881250949\n2\t2\t4\t881250950\n",
                "1::1193::5::978300760\n2::661::3::978302109\n",
                "userId,movieId,rating,timestamp\n1,2,3.5,1\n2,2,4,2\n",
                "user,item,rating\nann,\"tea, green\",3\nbob,cake,4\n",
            ]),
            Target::Words => text(&["2\n3\n2\n1 2 4\n2 3 1\n", "1\n1\n0\n", "3\n2\n1\n3 1 9\n"]),
            Target::Npy => binary::npy_files(),
            Target::NpyStream => binary::streamable_npy_files(),
            Target::Npz => binary::npz_files(),
            Target::Idx => binary::idx_files(),
            Target::Images => binary::pictures(),
            Target::Parquet | Target::ParquetStream => columnar::parquet_files(),
            Target::Arrow => columnar::arrow_files(),
            Target::Model => models::model_files(),
            Target::Checkpoint => models::checkpoints(),
            Target::Steps => models::steps(),
            Target::Codec => models::coded(),
            Target::Field => text(&[
                r#"{"variables":[{"labels":2},{"labels":3,"name":"b"}],"unary":[[0,1],[0,0.5,-1]],"edges":[{"a":0,"b":1,"table":[[1,0,0],[0,1,0]]}],"observed":{"0":1}}"#,
                r#"{"variables":[{"labels":2},{"labels":2},{"labels":2}],"edges":[{"a":0,"b":1,"table":[[1,-1],[-1,1]]},{"a":1,"b":2,"table":[[1,-1],[-1,1]]},{"a":2,"b":0,"table":[[-1,1],[1,-1]]}]}"#,
                r#"{"variables":[]}"#,
            ]),
            Target::Labels => binary::label_pictures(),
            Target::Segment => models::colours(),
            Target::Map => models::maps(),
        };
        Self { target, files }
    }

    pub(crate) fn files(&self) -> &[Vec<u8>] {
        &self.files
    }

    /// The input of one execution: it depends on the seed and the execution's number alone, so
    /// that it can be made again after a crash.
    pub(crate) fn input(&self, seed: u64, execution: u64) -> Vec<u8> {
        // First of all the seeds as they are.
        if let Some(file) = self.files.get(execution as usize) {
            return file.clone();
        }
        let random = &mut Random::new(seed, execution);
        // What stands inside another format is sometimes changed before it is packed: its check
        // sums are right then, and the changes reach further in.
        let mut bytes = match self.target {
            Target::Xlsx if random.one_in(2) => return binary::changed_workbook(random),
            Target::Npz if random.one_in(2) => return binary::changed_npz(random),
            Target::Images if random.one_in(3) => return binary::changed_tar(&self.files, random),
            Target::Model if random.one_in(2) => return models::changed_model(random),
            _ => random.choose(&self.files).clone(),
        };
        mutate(&mut bytes, &self.files, random);
        let packable = matches!(
            self.target,
            Target::Csv
                | Target::Ratings
                | Target::Words
                | Target::Npy
                | Target::Idx
                | Target::Images
        );
        if packable && random.one_in(8) {
            bytes = gzip(&bytes);
            if random.one_in(2) {
                mutate(&mut bytes, &self.files, random);
            }
        }
        bytes
    }
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    out.write_all(bytes).and_then(|()| out.finish()).expect("writing to memory")
}
