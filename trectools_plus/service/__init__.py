"""What others call over HTTP; needs the extra ``service``."""
