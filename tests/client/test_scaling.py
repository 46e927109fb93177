"""``image(…, longest=…)``: pictures are scaled down if requested, and only then."""

from __future__ import annotations

import re
import subprocess
import sys
import warnings
from base64 import b64decode
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from PIL import Image, ImageCms

from interlingua import Base64Source, image


def made(kind: str, mode: str = "RGB", size: tuple[int, int] = (60, 20), color: Any = None, **options: Any) -> bytes:
    written = BytesIO()
    Image.new(mode, size, color).save(written, kind, **options)
    return written.getvalue()


def sent(source: Any, longest: int, **options: Any) -> tuple[str, bytes]:
    block = image(source, longest=longest, **options).source
    assert isinstance(block, Base64Source)
    return block.media_type, b64decode(block.data)


def opened(source: Any, longest: int) -> Image.Image:
    return Image.open(BytesIO(sent(source, longest)[1]))


EXIF = Image.Exif()
EXIF[0x0112] = 6  # to be turned by 90 degrees
EXIF[0x010E] = "at home"
PROFILE = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()

# what is there, its mode and a pixel of what is sent: 30 pixels of 60 × 20
SCALED: list[tuple[bytes, str, str, Any]] = [
    (made("PNG", color=(200, 0, 0)), "PNG", "RGB", (200, 0, 0)),
    (made("PNG", "RGBA", color=(255, 0, 0, 100)), "PNG", "RGBA", (255, 0, 0, 100)),
    (made("PNG", "P", color=0, transparency=0), "PNG", "RGBA", (0, 0, 0, 0)),
    (made("PNG", "1", color=1), "PNG", "L", 255),
    (made("PNG", "I;16", color=30000), "PNG", "I;16", 30000),
    (made("PNG", "I;16", color=30000, transparency=5), "PNG", "I;16", 30000),
    (made("JPEG", "L", color=77), "JPEG", "L", 77),
    (made("JPEG", "CMYK", color=(0, 0, 0, 0)), "JPEG", "CMYK", (0, 0, 0, 0)),
    (made("GIF", color=(255, 0, 0)), "GIF", "P", None),
    (made("WEBP", "RGBA", color=(0, 0, 0, 0)), "WEBP", "RGBA", (0, 0, 0, 0)),
]


@pytest.mark.parametrize(("data", "kind", "mode", "pixel"), SCALED, ids=range(len(SCALED)))
def test_a_picture_keeps_its_format_and_what_it_shows(data: bytes, kind: str, mode: str, pixel: Any) -> None:
    assert image(data) == image(data, longest=60)  # small enough, byte for byte
    assert image(data) != image(data, longest=59)
    small = opened(data, 30)
    assert (small.format, small.mode, small.size) == (kind, mode, (30, 10))
    assert pixel is None or small.getpixel((15, 5)) == pixel


@pytest.mark.parametrize("mode", ["1", "P"])
def test_lines_between_pixels_are_mixed_and_not_left_out(mode: str) -> None:
    striped = Image.new("1", (60, 20))
    striped.putdata([column % 2 for _ in range(20) for column in range(60)])
    written = BytesIO()
    striped.convert(mode).save(written, "PNG")
    assert opened(written.getvalue(), 30).convert("L").getpixel((15, 5)) in range(110, 146)


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP"])
def test_a_photo_is_turned_and_keeps_its_colours_but_not_the_place(kind: str) -> None:
    photo = made(kind, exif=EXIF, icc_profile=PROFILE)
    small = opened(photo, 30)
    assert small.size == (10, 30)
    assert dict(small.getexif()) == {}
    assert small.info["icc_profile"] == PROFILE
    assert sent(photo, 60)[1] == photo


def test_a_preview_beside_a_photo_is_no_animation() -> None:
    photo = made("MPO", save_all=True, append_images=[Image.new("RGB", (6, 2))])
    assert Image.open(BytesIO(photo)).format == "MPO"
    media_type, data = sent(photo, 30)
    assert media_type == "image/jpeg"
    assert (Image.open(BytesIO(data)).format, Image.open(BytesIO(data)).size) == ("JPEG", (30, 10))


def test_a_scaled_line_is_at_least_one_pixel_wide() -> None:
    assert opened(made("PNG", size=(500, 1)), 10).size == (10, 1)


@pytest.mark.parametrize("kind", ["GIF", "WEBP", "PNG"])
def test_an_animation_is_sent_as_it_is_or_refused(kind: str) -> None:
    film = made(kind, color="red", save_all=True, append_images=[Image.new("RGB", (60, 20), "blue")])
    assert sent(film, 60)[1] == film
    with pytest.raises(ValueError, match="the content is animated, and longest= is for pictures that stand still"):
        image(film, longest=59)


PNG, JPEG = made("PNG"), made("JPEG", size=(200, 200))
HEIC = b"\0\0\0\x18ftypheic"
REFUSED: list[tuple[Any, dict[str, Any], type[Exception], str]] = [
    (PNG, {"longest": "60"}, TypeError, "longest is a number of pixels, such as 1568, not str"),
    (PNG, {"longest": True}, TypeError, "longest is a number of pixels, such as 1568, not bool"),
    (PNG, {"longest": 0}, ValueError, "longest is a number of pixels, at least 1, not 0"),
    ("https://example.org/a.png", {}, ValueError, "the picture at example.org is not fetched, so longest= cannot"),
    (HEIC, {}, ValueError, "the content is image/heic, and longest= is for PNG, JPEG, GIF and WebP"),
    (b"%PDF-1.7\n", {}, ValueError, "the content is application/pdf, which cannot be sent as a picture"),
    (PNG[:40], {}, ValueError, "the content is damaged: it cannot be read as image/png"),
    (JPEG[:-200], {}, ValueError, "the content is damaged: it cannot be read as image/jpeg"),
    (PNG, {"max_bytes": 20}, ValueError, f"the content has {len(PNG)} bytes, more than max_bytes=20"),
]


@pytest.mark.parametrize(("source", "options", "kind", "why"), REFUSED, ids=[why[:50] for *_, why in REFUSED])
def test_what_cannot_be_scaled_is_refused(
    source: Any, options: dict[str, Any], kind: type[Exception], why: str
) -> None:
    with pytest.raises(kind, match=re.escape(why)):
        image(source, **{"longest": 10, **options})


def test_the_size_limit_applies_after_scaling(tmp_path: Path) -> None:
    noise = Image.effect_noise((60, 60), 90)
    noise.save(tmp_path / "a.jpg", quality=1)
    size = (tmp_path / "a.jpg").stat().st_size
    with pytest.raises(ValueError, match=rf"a\.jpg, scaled down, has [\d,]+ bytes, more than max_bytes={size}"):
        image(tmp_path / "a.jpg", longest=59, max_bytes=size)


@pytest.mark.parametrize("warned", ["ignore", "error"])
@pytest.mark.parametrize("most", [599, 600, 1199])  # Pillow raises beyond twice the limit, and warns before
def test_a_decompression_bomb_is_refused(monkeypatch: pytest.MonkeyPatch, most: int, warned: Any) -> None:
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", most)
    told = rf"the content has more than {most:,} pixels \(PIL\.Image\.MAX_IMAGE_PIXELS\), and unpacking it"
    with warnings.catch_warnings():
        warnings.simplefilter(warned, Image.DecompressionBombWarning)
        with pytest.raises(ValueError, match=told):
            image(PNG, longest=10)
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", None)
    assert opened(PNG, 10).size == (10, 3)


@pytest.mark.parametrize("extra", ["there", "missing"])
def test_pillow_is_imported_on_use_and_named_where_it_is_missing(extra: str) -> None:
    lines = f"""
import sys
from interlingua import image
image({PNG!r})
assert "PIL" not in sys.modules
if {extra == "missing"}:
    sys.modules["PIL"] = None
image({PNG!r}, longest=10)
"""
    done = subprocess.run([sys.executable, "-c", lines], capture_output=True, text=True, check=False)
    told = "ImportError: longest= needs the extra `images`: pip install 'interlingua[images]'"
    assert (done.stderr.splitlines() or [""])[-1] == (told if extra == "missing" else "")
