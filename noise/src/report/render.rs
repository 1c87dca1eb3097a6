// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Renders a figure as SVG for the page, as an SVG file, or as a PNG file. A file contains the text of the page's
//! caption.

use std::sync::Arc;

use maud::{PreEscaped, html};
use plotters::drawing::IntoDrawingArea;
use plotters::element::Text;
use plotters::prelude::SVGBackend;
use resvg::{tiny_skia, usvg};

use super::figures::Figure;
use super::look::{INK, MUTED, PAPER, WIDE, Width, hex, load_font, px, text};
use super::origin::origin;
use crate::Result;

/// Margin of a file on each side.
const MARGIN: i32 = 24;
const TITLE: i32 = 40;
const SMALL_PRINT: i32 = 15;

/// SVG for the page: without a size of its own, with a title and a description for screen readers.
pub fn inline(figure: &Figure<'_>, width: Width) -> Result<PreEscaped<String>> {
    let (wide, high) = (px(width.pixels), px(figure.height(width)));
    let drawing = drawing((wide, high), |root| figure.draw(root, width))?;
    let id = format!("{}-{}", figure.name, width.name);
    Ok(html! {
        svg class=(width.name) viewBox=(format!("0 0 {wide} {high}")) role="img" aria-labelledby=(id) aria-describedby=(format!("{id}-reading")) {
            title id=(id) { (figure.title) }
            desc id=(format!("{id}-reading")) { (figure.reading) }
            (drawing)
        }
    })
}

/// An SVG file: title, figure, and the origin of its records.
pub fn svg(figure: &Figure<'_>) -> Result<String> {
    let notes = [figure.reading.clone()].into_iter().chain(figure.records.iter().map(|one| origin(one.about)));
    let notes: Vec<String> = notes.flat_map(|note| wrapped(&note, WIDE.letters)).collect();
    let height = figure.height(WIDE);
    let (wide, high) = (WIDE.pixels + 2 * MARGIN, TITLE + height + SMALL_PRINT * notes.len() as i32 + 2 * MARGIN);
    let drawing = drawing((px(wide), px(high)), |root| {
        root.draw(&Text::new(figure.title, (px(MARGIN), px(MARGIN - 6)), text(20, INK)))?;
        let body = root.clone().shrink((px(MARGIN), px(MARGIN + TITLE)), (px(WIDE.pixels), px(height)));
        figure.draw(&body, WIDE)?;
        for (row, note) in notes.iter().enumerate() {
            let y = MARGIN + TITLE + height + 8 + SMALL_PRINT * row as i32;
            root.draw(&Text::new(note.as_str(), (px(MARGIN), px(y)), text(11, MUTED)))?;
        }
        Ok(())
    })?;
    let file = html! {
        svg xmlns="http://www.w3.org/2000/svg" width=(wide) height=(high) viewBox=(format!("0 0 {} {}", px(wide), px(high))) role="img" {
            title { (figure.title) }
            desc { (figure.reading) }
            rect width="100%" height="100%" fill=(hex(PAPER.light)) {}
            (drawing)
        }
    };
    Ok(legal(&file.into_string()))
}

/// Converts an SVG file to PNG, with two dots in each direction per pixel of the page.
pub fn png(svg: &str) -> Result<Vec<u8>> {
    let mut options = usvg::Options::default();
    let fonts = Arc::make_mut(&mut options.fontdb);
    fonts.load_font_data(epaint_default_fonts::UBUNTU_LIGHT.to_vec());
    fonts.set_sans_serif_family("Ubuntu");
    let tree = usvg::Tree::from_str(svg, &options)?;
    let size = tree.size().to_int_size().scale_by(2.0).ok_or("the picture has no size")?;
    let mut dots = tiny_skia::Pixmap::new(size.width(), size.height()).ok_or("the picture is too large")?;
    resvg::render(&tree, tiny_skia::Transform::from_scale(2.0, 2.0), &mut dots.as_mut());
    Ok(dots.encode_png()?)
}

/// The content between the SVG tags.
fn drawing(size: (i32, i32), draw: impl FnOnce(&super::figures::Area<'_>) -> Result<()>) -> Result<PreEscaped<String>> {
    load_font()?;
    let mut text = String::new();
    let root = SVGBackend::with_string(&mut text, (size.0 as u32, size.1 as u32)).into_drawing_area();
    draw(&root)?;
    root.present()?;
    drop(root);
    let within = text.split_once('>').and_then(|(_, rest)| rest.rsplit_once("</svg>"));
    Ok(PreEscaped(within.ok_or("the drawing is no SVG")?.0.to_owned()))
}

/// Replaces characters that are not allowed in XML; labels may contain them.
pub fn legal(text: &str) -> String {
    let may_not = |letter: char| (letter.is_control() && letter != '\n') || matches!(letter, '\u{FFFE}' | '\u{FFFF}');
    text.chars().map(|letter| if may_not(letter) { char::REPLACEMENT_CHARACTER } else { letter }).collect()
}

fn wrapped(note: &str, letters: usize) -> Vec<String> {
    textwrap::wrap(note, letters).into_iter().map(|line| line.into_owned()).collect()
}
