use super::*;

fn two_halves(noise: bool) -> Pixels {
    let bytes = (0..30 * 40)
        .flat_map(|i| {
            let grain = if noise { (i * 7919 % 31) as u8 } else { 0 };
            if i % 40 < 20 { [180 + grain, 60, 60] } else { [60, 60, 180 + grain] }
        })
        .collect();
    Pixels { height: 30, width: 40, channels: 3, bytes }
}

fn right(labels: &[u8]) -> bool {
    labels.iter().enumerate().all(|(i, l)| *l == if i % 40 < 20 { 1 } else { 2 })
}

#[test]
fn a_single_marked_pixel_each_is_enough() {
    let mut marks = vec![0; 1200];
    (marks[45], marks[75]) = (1, 2);
    for telling in [Telling::Mixtures, Telling::Regression] {
        for method in [SegmentMethod::Cut, SegmentMethod::MeanField] {
            for noise in [false, true] {
                let params = SegmentParams { telling, method, ..SegmentParams::default() };
                let context = Context::new(0);
                let cut = segment(&two_halves(noise), Some(&marks), None, &params, true, &context)
                    .unwrap();
                assert!(right(&cut.labels), "{telling:?} {method:?} {noise}");
                let shares = cut.probability.unwrap();
                assert!(shares.chunks(2).all(|p| (p[0] + p[1] - 1.0).abs() < 1e-6));
            }
        }
    }
}

#[test]
fn a_picture_of_one_colour_is_cut_half_way() {
    let picture = Pixels { height: 9, width: 21, channels: 1, bytes: vec![77; 189] };
    let mut marks = vec![0; 189];
    (marks[84], marks[104]) = (1, 2);
    let cut =
        segment(&picture, Some(&marks), None, &SegmentParams::default(), true, &Context::new(0));
    let cut = cut.unwrap();
    assert_eq!((cut.labels[84], cut.labels[104]), (1, 2));
}

#[test]
fn marks_are_kept_and_three_labels_work() {
    let bytes = (0..600).map(|i| [20, 120, 220][i % 30 / 10]).collect();
    let picture = Pixels { height: 20, width: 30, channels: 1, bytes };
    let mut marks = vec![0; 600];
    (marks[95], marks[105], marks[115]) = (3, 7, 1);
    // Against all evidence.
    marks[310] = 3;
    let cut =
        segment(&picture, Some(&marks), None, &SegmentParams::default(), false, &Context::new(0));
    let cut = cut.unwrap();
    assert_eq!(cut.values, [1, 3, 7]);
    assert_eq!([cut.labels[95], cut.labels[105], cut.labels[115], cut.labels[310]], [3, 7, 1, 3]);
}

#[test]
fn colours_serve_the_next_picture_through_a_file() {
    let mut marks = vec![0; 1200];
    (marks[45], marks[75]) = (1, 2);
    for telling in [Telling::Mixtures, Telling::Regression] {
        let params = SegmentParams { telling, ..SegmentParams::default() };
        let context = Context::new(0);
        let first =
            segment(&two_halves(true), Some(&marks), None, &params, false, &context).unwrap();
        let learned =
            Colours::of_picture(&two_halves(true), &first.labels, &params, &context).unwrap();
        let manifest = mereo_core::Manifest::new(Colours::KIND);
        let bytes = learned.to_file(manifest).to_bytes().unwrap();
        let file = mereo_core::ModelFile::from_bytes(&bytes, "a.safetensors".as_ref()).unwrap();
        let colours = Colours::from_file(file, "a.safetensors".as_ref()).unwrap();
        assert_eq!(colours, learned);
        let next =
            segment(&two_halves(false), None, Some(&colours), &params, false, &context).unwrap();
        assert!(right(&next.labels), "{telling:?}");
    }
}

#[test]
fn threads_and_rounds() {
    let mut marks = vec![0; 1200];
    (marks[45], marks[75]) = (1, 2);
    let params = SegmentParams { rounds: 5, ..SegmentParams::default() };
    let on = |threads| {
        let context = Context::new(0).with_threads(threads).unwrap();
        segment(&two_halves(true), Some(&marks), None, &params, true, &context).unwrap()
    };
    let (one, three) = (on(1), on(3));
    assert_eq!(
        (&one.labels, one.energy, &one.probability),
        (&three.labels, three.energy, &three.probability)
    );
    assert!(right(&one.labels) && one.trace.len() < 5, "{:?}", one.trace);
}

#[test]
fn marks_that_say_nothing_are_named() {
    let say = |marks: &[u8]| {
        let params = SegmentParams::default();
        let error =
            segment(&two_halves(false), Some(marks), None, &params, false, &Context::new(0));
        error.unwrap_err().to_string()
    };
    assert!(say(&[0; 1200]).contains("no marked pixel"));
    let mut marks = [0; 1200];
    marks[3] = 2;
    assert!(say(&marks).contains("one label, 2"));
}

/// A red square on a green ground, both with grain.
fn scene(at: usize) -> (Pixels, Vec<bool>) {
    let inside = |i: usize| (at..at + 14).contains(&(i / 40)) && (at..at + 18).contains(&(i % 40));
    let grain = |i: usize, k: usize| ((i * 7919 + k * 104_729 + at * 31) % 47) as u8;
    let pixel = |i: usize| {
        let [r, g, b] = if inside(i) { [150, 30, 40] } else { [40, 110, 60] };
        [r + grain(i, 0), g + grain(i, 1), b + grain(i, 2)]
    };
    let bytes = (0..1200).flat_map(pixel).collect();
    (Pixels { height: 30, width: 40, channels: 3, bytes }, (0..1200).map(inside).collect())
}

#[test]
fn supervised_models_are_the_same_whatever_labels_are_called() {
    for (object, background) in [(1, 0), (0, 1), (1, 2), (2, 1), (255, 0)] {
        let name = |inside: bool| if inside { object } else { background };
        let examples = [3, 7, 11].map(|at| {
            let (picture, inside) = scene(at);
            Example { picture, labels: inside.into_iter().map(|i| Some(name(i))).collect() }
        });
        let context = Context::new(0);
        let model = learn(&examples, &context).unwrap();
        let (picture, inside) = scene(9);
        let params = SegmentParams::default();
        for marks in [None, Some(vec![0; 1200])] {
            let cut =
                segment(&picture, marks.as_deref(), Some(&model), &params, true, &context).unwrap();
            let right = cut.labels.iter().zip(&inside).all(|(l, i)| *l == name(*i));
            assert!(right, "{object} {background}");
        }
    }
}

#[test]
fn mean_field_cuts_as_a_cut_does() {
    let (picture, inside) = scene(8);
    let mut marks = vec![0; 1200];
    marks[14 * 40 + 15..14 * 40 + 20].fill(1);
    marks[3 * 40 + 5..3 * 40 + 35].fill(2);
    for method in [SegmentMethod::Cut, SegmentMethod::MeanField] {
        let params = SegmentParams { method, ..SegmentParams::default() };
        let cut = segment(&picture, Some(&marks), None, &params, true, &Context::new(0)).unwrap();
        let wrong = cut.labels.iter().zip(&inside).filter(|(l, i)| (**l == 1) != **i).count();
        assert!(wrong == 0, "{method:?}: {wrong}");
        // How probable labels are goes with the labels.
        let shares = cut.probability.unwrap();
        let unsure = (0..1200).filter(|&i| (shares[2 * i] > 0.5) != inside[i]).count();
        assert!(unsure == 0, "{method:?}: {unsure}");
    }
}
