"""Secrets in addresses are hidden, and the rest does not change."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trectools_plus.text import hide_secrets, secret_in_url


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("https://me:S3CRET@host/a.run", "https://***@host/a.run"),
        ("https://S3CRET@host/a.run", "https://***@host/a.run"),
        ("https://me:S3@CRET@host/a.run", "https://***@host/a.run"),
        ("https://me:S3/CRET@host/a.run", "https://***@host/a.run"),
        ("s3://AKIA:S3CRET@bucket/a.run", "s3://***@bucket/a.run"),
        ("https://h/a?X-Amz-Signature=S3CRET&b=1", "https://h/a?X-Amz-Signature=***&b=1"),
        ("https://h/a?X-Amz-Security-Token=S3CRET", "https://h/a?X-Amz-Security-Token=***"),
        ("https://h/a?X-Goog-Credential=S3CRET#x", "https://h/a?X-Goog-Credential=***#x"),
        ("https://h/a?sv=1&sig=S3CRET%3D", "https://h/a?sv=1&sig=***"),
        ("https://h/a?Expires=1&Signature=S3CRET", "https://h/a?Expires=1&Signature=***"),
        ("https://h/a?sessionId=S3CRET", "https://h/a?sessionId=***"),
        ("https://h/a?accessToken=S3CRET", "https://h/a?accessToken=***"),
        ("https://h/a#access_token=S3CRET", "https://h/a#access_token=***"),
        ("a=https://h/a?apiKey=S3CRET b", "a=https://h/a?apiKey=*** b"),
        ("('https://h/a?token=S3CRET')", "('https://h/a?token=***')"),
        ("zip://a.run::https://me:S3CRET@host/f.zip", "zip://a.run::https://***@host/f.zip"),
        ("https://a/b,https://me:S3CRET@host/c", "https://a/b,https://***@host/c"),
        (
            "https://h/a?accesskey=S3CRET&x-functions-key=S3CRET",
            "https://h/a?accesskey=***&x-functions-key=***",
        ),
        (
            "https://h/a?apitoken=S3CRET&filter[token]=S3CRET",
            "https://h/a?apitoken=***&filter[token]=***",
        ),
        ("https://h/a?%74oken=S3CRET&pass=S3CRET", "https://h/a?%74oken=***&pass=***"),
    ],
)
def test_secrets(text, expected):
    assert hide_secrets(text) == expected
    assert hide_secrets(expected) == expected
    secret = secret_in_url(text)
    assert secret is not None
    assert "S3" not in secret
    assert "CRET" not in secret


@pytest.mark.parametrize(
    "text",
    [
        "s3://bucket/folder/a.run.gz",
        "https://host:8443/a@v2.run?download=1&version=3",
        "https://host/~me:you@here/a.run",
        "abfs://container@account.dfs.core.windows.net/a.run",
        "https://h/a?monkey=x&keyless=y&turkey=z",
        "https://h/a?keyword=x&signal=y&tokens=3&monkey=4",
        "tcp://10.0.0.1:8786",
        "s3://bucket/key=5/a.run",
        "https://h/a?language_code=de&design=1&q=a%40b",
        "",
        "http://[::1]:9091/a@b",
        "http://host:9091?q=a@b",
    ],
)
def test_nothing_else(text):
    assert hide_secrets(text) == text
    assert secret_in_url(text) is None


@pytest.mark.parametrize(
    "url",
    [
        "http://me:S3CRET@host:9091",
        "http://S3CRET@host",
        "http://me:S3?CRET@host",
        "http://me:S3#CRET@host",
        "http://me:S3 CRET@host",
        " http://me:S3CRET@host",
        "me:S3CRET@host?token=1",
        "//me:S3CRET@host",
        "http:/me:S3CRET@host",
        "http:\\\\me:S3CRET@host",
        "http://host/?to=https://me:S3CRET@other",
        "http://host?sig=S3CRET",
        "host?token=S3CRET",
        "http://host/?x=1;api_key=S3CRET",
        "http://host/#access_token=S3CRET",
        "http://host/?X-Amz-Signature=S3CRET",
        "http://host/?SUBSCRIPTION-KEY=S3CRET",
        "http://host/?%73ig=S3CRET",
        "http://host/?%2573ig=S3CRET",
        "http://host/?sig%20=S3CRET",
        "http://host/?sig+=S3CRET",
        "http://host/?token%3DS3CRET",
        "http://host/?a=b?sig=S3CRET",
        "http://host/?u=http%3A%2F%2Fme%3AS3CRET%40b",
        "http://me%3AS3CRET%40host/",
        "http://host/?code=S3CRET",
        "http://host/a;jsessionid=S3CRET",
    ],
)
def test_the_secret_of_a_url_is_found_and_not_shown(url):
    secret = secret_in_url(url)
    assert secret is not None
    assert "CRET" not in secret


@given(
    st.sampled_from(["https", "s3", "webhdfs"]),
    st.text(
        st.characters(min_codepoint=33, max_codepoint=126, exclude_characters="?#'\"<>/"),
        min_size=1,
    ),
)
def test_no_password_is_left(protocol, password):
    hidden = hide_secrets(f"{protocol}://me:{password}@host/a.run")
    assert hidden == f"{protocol}://***@host/a.run"
