//! Averages: one member is itself, several are what they say together, and a file brings them back.

use mereo::linear::FaParams;
use mereo::mixture::GmmParams;
use mereo::parts::McvqParams;
use mereo::ratings::BfaParams;
use mereo::{
    AnyModel, CellPrediction, Context, Fit, Fitted, Manifest, Members, ModelFile, ScoreKind, Table,
    Tensor,
};

fn ratings() -> Table<f32> {
    mereo::data::toy::World::Ratings.make(Some(150), 0).unwrap().table
}

fn mcvq() -> Fit {
    Fit::new(McvqParams::new(2, 3)).restarts(1).passes(8).seed(5)
}

fn bytes(fitted: &Fitted) -> Vec<u8> {
    fitted.model.to_file(fitted.manifest.clone()).to_bytes().unwrap()
}

/// Everything that is asked of rows: scores, reconstructions, codes, and mean and median of some cells.
fn answers(fitted: &Fitted, table: &Table<f32>) -> Vec<Vec<f64>> {
    let context = Context::new(0);
    let wide = |rows: &[f32]| rows.iter().map(|x| f64::from(*x)).collect::<Vec<_>>();
    let cells: Vec<(usize, usize)> =
        (0..table.rows()).map(|row| (row, row % table.columns())).collect();
    let tell = |p: &CellPrediction| [p.mean(), p.median(), p.deviation()];
    let told = fitted.predict_cells(table, &cells, &context, tell).unwrap();
    vec![
        fitted.score(table, None, &context).unwrap().rows,
        wide(fitted.reconstruct(table, false, &context).unwrap().values()),
        told.concat(),
    ]
}

fn assert_near(a: &[Vec<f64>], b: &[Vec<f64>], within: f64) {
    for (a, b) in a.iter().zip(b) {
        assert_eq!(a.len(), b.len());
        for (x, y) in a.iter().zip(b) {
            assert!((x - y).abs() <= within * y.abs().max(1.0), "{x} {y}");
        }
    }
}

#[test]
fn an_average_of_one_member_is_that_member() {
    let table = ratings();
    let fits: [fn() -> Fit; 2] = [mcvq, || Fit::new(BfaParams::new(2)).passes(5).seed(5)];
    for fit in fits {
        let (alone, one) = (fit().run(&table).unwrap(), fit().average(1).run(&table).unwrap());
        assert_eq!(one.model.members(), std::slice::from_ref(&alone.model));
        assert_eq!(answers(&one, &table), answers(&alone, &table));
        let codes = |f: &Fitted| f.encode(&table, &Context::new(0)).unwrap().into_parts().0;
        assert_eq!(codes(&one), codes(&alone));
        let sample = |f: &Fitted| {
            let mut row = vec![0.0; f.model.columns()];
            let random = &mut Context::new(3).random("row", [0, 0]);
            f.model.sampler().unwrap().sample_row(random, true, &mut row);
            row
        };
        assert_eq!(sample(&one), sample(&alone));
        assert_eq!(one.training().unwrap().bound, alone.training().unwrap().bound);
    }
}

#[test]
fn members_are_what_other_seeds_learn_and_count_equally() {
    let table = ratings();
    let average = mcvq().average(3).run(&table).unwrap();
    let alone: Vec<Fitted> = (5..8).map(|seed| mcvq().seed(seed).run(&table).unwrap()).collect();
    let own: Vec<AnyModel> = alone.iter().map(|f| f.model.clone()).collect();
    assert_eq!(average.model.members(), own);
    assert!(own[0] != own[1] && own[1] != own[2]);
    assert_eq!(average.model.described(), "average of 3 mcvq");
    let each: Vec<_> = alone.iter().map(|fitted| answers(fitted, &table)).collect();
    let found = answers(&average, &table);
    // Densities are averaged, not their logarithms; reconstructions and means are.
    for (row, score) in found[0].iter().enumerate() {
        let mean = each.iter().map(|a| a[0][row].exp()).sum::<f64>() / 3.0;
        assert!((score - mean.ln()).abs() < 1e-9, "{score} {}", mean.ln());
    }
    for i in 0..found[1].len() {
        let mean = each.iter().map(|a| a[1][i]).sum::<f64>() / 3.0;
        assert!((found[1][i] - mean).abs() < 1e-5);
    }
    for i in (0..found[2].len()).step_by(3) {
        let mean = each.iter().map(|a| a[2][i]).sum::<f64>() / 3.0;
        assert!((found[2][i] - mean).abs() < 1e-9);
        // The variance of a mixture.
        let square = |a: &Vec<Vec<f64>>| a[2][i + 2].powi(2) + (a[2][i] - mean).powi(2);
        let deviation = (each.iter().map(square).sum::<f64>() / 3.0).sqrt();
        assert!((found[2][i + 2] - deviation).abs() < 1e-9);
    }
    // The bound is the mean of theirs, and not above what is found.
    let training = average.training().unwrap();
    let bounds: Vec<f64> = alone.iter().map(|f| f.training().unwrap().bound).collect();
    assert!((training.bound - bounds.iter().sum::<f64>() / 3.0).abs() < 1e-9);
    assert_eq!(training.restarts.len(), 3);
}

#[test]
fn the_order_of_members_does_not_matter() {
    let table = ratings();
    let average = mcvq().average(3).run(&table).unwrap();
    let mut turned = average.clone();
    let mut members = average.model.members().to_vec();
    members.rotate_left(1);
    turned.model = AnyModel::average(members).unwrap();
    assert_near(&answers(&turned, &table), &answers(&average, &table), 1e-6);
}

#[test]
fn an_average_comes_back_from_its_file_and_is_the_same_on_any_number_of_threads() {
    let table = ratings();
    let on = |threads: usize| {
        let context = Context::new(5).with_threads(threads).unwrap();
        mcvq().context(&context).average(2).run(&table).unwrap()
    };
    let fitted = on(1);
    assert_eq!(bytes(&on(2)), bytes(&fitted));
    assert_eq!(bytes(&on(7)), bytes(&fitted));
    let file = ModelFile::from_bytes(&bytes(&fitted), "memory".as_ref()).unwrap();
    assert_eq!(file.manifest, fitted.manifest);
    let again = Fitted::from_file(file, "memory".as_ref()).unwrap();
    assert_eq!(again.model, fitted.model);
    assert_eq!(answers(&again, &table), answers(&fitted, &table));
    assert_eq!(bytes(&again), bytes(&fitted));
}

#[test]
fn scores_are_exact_only_if_those_of_all_members_are() {
    let table = ratings();
    let kind = |fit: Fit| {
        let model = fit.average(2).run(&table).unwrap().model;
        model.scorer::<f32>().unwrap().score_kind()
    };
    assert_eq!(kind(Fit::new(GmmParams::new(2)).passes(3)), ScoreKind::Exact);
    assert_eq!(kind(Fit::new(BfaParams::new(2)).passes(3)), ScoreKind::Bound);
}

#[test]
fn what_an_average_cannot_do_is_said_by_name() {
    let table = ratings();
    let average = mcvq().average(2).run(&table).unwrap();
    assert!(average.model.parts().is_none() && average.model.classes().is_none());
    let error = average.explain(&table, &[0], &Context::new(0)).unwrap_err().to_string();
    assert!(error.contains("average"), "{error}");
    // Rows and columns that are alike are found by all members together.
    assert_eq!(average.similar_rows(&table, 3, 4, &Context::new(0)).unwrap().len(), 4);
    assert_eq!(average.similar_columns(3, 4).unwrap().len(), 4);
}

#[test]
fn averages_that_cannot_be_are_named_errors() {
    let table = ratings();
    for members in [0, 257] {
        let error = mcvq().average(members).run(&table).unwrap_err().to_string();
        assert!(error.contains("average") && error.contains("1 to 256"), "{error}");
    }
    let gmm = Fit::new(GmmParams::new(2)).passes(2).run(&table).unwrap().model;
    let fa = Fit::new(FaParams::new(2)).passes(2).run(&table).unwrap().model;
    assert!(AnyModel::average(vec![gmm, fa]).is_err());
}

/// A file of two codebooks by hand.
fn by_hand(members: Option<Members>) -> ModelFile {
    let mut file = ModelFile::new(Manifest { members, ..Manifest::new("average") });
    for member in 0..2 {
        let mut insert = |name: &str, shape: Vec<usize>, values: Vec<f64>| {
            file.insert(&format!("member{member}.{name}"), Tensor::new(shape, values));
        };
        insert("mean", vec![1, 2], vec![f64::from(member), 0.0]);
        insert("state_prior", vec![1], vec![1.0]);
        insert("variance", vec![1], vec![1.0]);
    }
    file
}

#[test]
fn hostile_files_of_averages_are_named_errors() {
    let of = |model: &str, count| Some(Members { model: model.to_owned(), count });
    let load = |file| AnyModel::from_file(file, "a.safetensors".as_ref());
    let (model, _) = load(by_hand(of("vq", 2))).unwrap();
    assert_eq!((model.members().len(), model.columns()), (2, 2));
    let cases = [
        (None, "does not say what it is an average of"),
        (of("vq", 0), "average of 0 members"),
        (of("vq", usize::MAX), "expected 1 to 256"),
        (of("vq", 3), "member 2: the tensor"),
        (of("average", 2), "`average` models, which this mereo does not know"),
        (of("oracle", 2), "`oracle` models"),
        (of("gmm", 2), "member 0: the tensor"),
    ];
    for (members, problem) in cases {
        let error = load(by_hand(members)).unwrap_err().to_string();
        assert!(error.starts_with("a.safetensors") && error.contains(problem), "{error}");
    }
    let mut other = by_hand(of("vq", 2));
    other.insert("member1.mean", Tensor::new(vec![1, 3], vec![0.0; 3]));
    let error = load(other).unwrap_err().to_string();
    assert!(error.contains("member 1 has 3 columns, member 0 has 2"), "{error}");
    // What nobody asks for is ignored.
    let mut more = by_hand(of("vq", 2));
    for name in ["member9.mean", "member.mean", "memberx.mean", "mean", "member1"] {
        more.insert(name, Tensor::new(vec![1], vec![1.0]));
    }
    assert_eq!(load(more).unwrap().0, model);
}

/// Asks to stop in the first pass of the second member.
struct Stopper(usize, mereo::Stop);
impl mereo::Observer for Stopper {
    fn passed(&mut self, _: &mereo::Record) {
        self.0 += 1;
        if self.0 == 9 {
            self.1.ask();
        }
    }
}

#[test]
fn learning_that_is_stopped_keeps_the_members_there_are() {
    let table = ratings();
    let context = Context::new(5);
    let mut stopper = Stopper(0, context.stop().clone());
    let held = mereo::Held::Table(table.clone());
    let fitted =
        mcvq().passes(4).context(&context).average(5).observed(held, &mut stopper).unwrap();
    assert!((1..5).contains(&fitted.model.members().len()), "{}", fitted.model.members().len());
    assert_eq!(fitted.training().unwrap().status, mereo::Status::Interrupted);
    assert_eq!(fitted.manifest.members.as_ref().unwrap().count, fitted.model.members().len());
}

#[test]
fn of_words_most_members_say_what_stands_there() {
    use mereo::{About, ColumnKind, Dense};
    let words = ["a", "b", "c"].map(str::to_owned).to_vec();
    let kinds = vec![ColumnKind::Category { levels: words }, ColumnKind::Number];
    let cells: Vec<f64> =
        (0..90).flat_map(|i| [f64::from(i % 3), f64::from(i % 3) * 4.0]).collect();
    let about = About { kinds: Some(kinds), ..About::default() };
    let table = Table::from(Dense::new(90, 2, cells).unwrap()).with_about(about).unwrap();
    let fitted = Fit::new(GmmParams::new(3)).average(3).run(&table).unwrap();
    let rows = fitted.reconstruct(&table, false, &Context::new(0)).unwrap();
    for row in 0..90 {
        assert_eq!(rows.row(row)[0], (row % 3) as f64);
    }
}
