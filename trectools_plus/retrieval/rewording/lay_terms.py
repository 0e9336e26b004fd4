"""Lay words and abbreviations."""
from __future__ import annotations
import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
import Stemmer

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
_FUNCTION = frozenset("""a an the his her my our their its your he she it they i we you him them me us this that these those is are
was were be been being am has have had having do does did of in on at to from with by for and or as
i'm he's she's it's i've there's""".split())
_LIGHT = frozenset("""very so too quite rather really always often sometimes all most some any again just also still then when while
baby child son daughter boy girl patient kid infant newborn man woman there keeps keep gets get got getting goes going year old years month months day
days since after because""".split())
_stem = Stemmer.Stemmer('english').stemWord

@dataclass(frozen=True)
class Lay:
    phrase: str
    term_id: str
    name: str
    stems: tuple
    abbr: bool

def content(text):
    words = _WORD.findall(text)
    st = [( _stem(w.casefold().replace('’',"'")), w) for w in words]
    c=[s for s,w in st if w.casefold() not in _FUNCTION]
    return c, words

def is_abbr(p): 
    return len(p)<=6 and sum(ch.isupper() for ch in p)>=2

class LayTerms:
    def __init__(self, rows):
        self.by=defaultdict(list); self.abbr=defaultdict(list)
        for phrase,tid,name,lang in rows:
            if is_abbr(phrase): self.abbr[phrase].append((tid,name)); continue
            c,_=content(phrase)
            if not c: c=[_stem(w.casefold()) for w in _WORD.findall(phrase)]
            key=frozenset(c)
            for s in key: self.by[s].append((key,tid,name,phrase))
    def find(self, text, gap=2):
        """yield (tid,name,coverage)"""
        c,words=content(text)
        if not c: c=[_stem(w.casefold()) for w in words]
        light={_stem(w) for w in _LIGHT}
        weigh=lambda xs: sum(0.0 if x in light else 1.0 for x in xs)
        out=[]
        seen=set()
        for s in set(c):
            for key,tid,name,phrase in self.by.get(s,()):
                if (key,tid) in seen or not key<=set(c): continue
                seen.add((key,tid))
                # smallest window
                n=len(key); best=None
                pos=[i for i,x in enumerate(c) if x in key]
                for a in range(len(c)):
                    need=set(key)
                    for b in range(a,min(len(c),a+n+gap)):
                        need.discard(c[b])
                        if not need:
                            if best is None or b-a<best[1]-best[0]: best=(a,b)
                            break
                if best: out.append((tid,name,(min(1,weigh(key)/weigh(c)) if weigh(c) and weigh(key) else n/len(c)),key,phrase))
        for w in re.findall(r"[^\s,;:()]+",text):
            w=w.rstrip('.')
            for tid,name in self.abbr.get(w,()): out.append((tid,name,1/max(1,weigh(c)),frozenset([w.casefold()]),w))
        # keep longest
        out=[x for x in out if not any(x[3]<y[3] for y in out)]
        return out
