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
