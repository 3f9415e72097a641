"""The sentence a voice is shown with, by language."""

SENTENCES = {
    "zh": "你好，这是我的声音。春天来了，窗外的树一天比一天绿。",
    "en": "Hello, this is my voice. Spring is here, and the trees outside grow greener every day.",
    "ja": "こんにちは、これが私の声です。春になり、窓の外の木々は日ごとに緑が濃くなります。",
}
