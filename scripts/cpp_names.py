# SPDX-License-Identifier: Apache-2.0
"""What C++ files declare at namespace scope, and how long their functions are: enough of a parser for our own style, on text without comments and string contents."""
import re
from typing import NamedTuple

TOKEN = re.compile(r"[A-Za-z_]\w*|::|->|\d[\w.']*|\S")
DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.M)
CLOSING = {"(": ")", "{": "}", "[": "]"}


class Name(NamedTuple):
    """One declaration. `space` is its namespace, "nl::capture"; `key` its name, with the types of its parameters for a function and its meaning for an alias."""
    kind: str  # type, function, value, alias, directive (using namespace)
    space: str
    hidden: bool  # in an anonymous namespace, or static in a source
    key: str
    line: int
    is_definition: bool

    @property
    def name(self):
        return re.match(r"\w+", self.key).group(0)


class Parser:
    def __init__(self, text):
        body = DIRECTIVE.sub(lambda m: "\n" * m.group(0).count("\n"), text)
        self.tokens = [(m.group(0), m.start()) for m in TOKEN.finditer(body)]
        self.starts = [0] + [m.end() for m in re.finditer("\n", body)]
        self.names = []

    def line(self, at):
        low, high = 0, len(self.starts)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self.starts[middle] <= at else (low, middle)
        return low + 1

    def past(self, i):
        """The place after the bracket that closes the one at i."""
        depth = 0
        while i < len(self.tokens):
            token = self.tokens[i][0]
            depth += (token in CLOSING) - (token in (")", "}", "]"))
            i += 1
            if depth == 0:
                return i
        return i

    def scope(self, i, space, hidden):
        """Reads declarations from i to the brace that ends this scope; the place after it."""
        while i < len(self.tokens):
            token = self.tokens[i][0]
            if token == "}":
                return i + 1
            if token == ";":
                i += 1
            elif token == "namespace" or (token == "inline" and self.word(i + 1) == "namespace"):
                i = self.namespace(i + (token == "inline") + 1, space, hidden)
            elif token == "extern" and self.word(i + 1) == "{":
                i = self.scope(i + 2, space, hidden)
            else:
                i = self.declaration(i, space, hidden)
        return i

    def word(self, i):
        return self.tokens[i][0] if i < len(self.tokens) else ""

    def namespace(self, i, space, hidden):
        parts = []
        while self.word(i) not in ("{", "=", ";", ""):
            parts += [self.word(i)] if self.word(i) != "::" else []
            i += 1
        if self.word(i) != "{":  # an alias
            while self.word(i) not in (";", ""):
                i += 1
            return i + 1
        return self.scope(i + 1, "::".join([space, *parts]).strip(":"), hidden or not parts)

    def declaration(self, i, space, hidden):
        """One declaration; its tokens outside of brackets are enough to know what it declares."""
        begin, flat, has_body, is_template = i, [], False, False
        while i < len(self.tokens):
            token = self.tokens[i][0]
            if token == "template":
                is_template = True
                i = self.angles(i + 1)
                continue
            if token in ("[", "(") or (token == "{" and self.is_initialiser(flat)):
                end = self.past(i)
                flat.append((token, i, end))
                i = end
                continue
            if token == "{":
                has_body = True
                end = self.past(i)
                if self.kind(flat) != "type":
                    i = end
                    break
                flat.append((token, i, end))
                i = end
                continue
            if token in (";", "}"):
                i += token == ";"
                break
            flat.append((token, i, i + 1))
            i += 1
        self.take(flat, space, hidden, has_body, self.line(self.tokens[begin][1]), is_template)
        return i

    def angles(self, i):
        depth = 0
        while i < len(self.tokens):
            depth += (self.word(i) == "<") - (self.word(i) == ">")
            i = self.past(i) if self.word(i) in CLOSING else i + 1
            if depth == 0:
                return i
        return i

    @staticmethod
    def words(flat):
        return [token for token, _, _ in flat]

    def kind(self, flat):
        words = [w for w in self.words(flat) if w not in ("inline", "static", "constexpr", "const", "extern", "typedef")]
        if words and words[0] in ("struct", "class", "union", "enum") and "(" not in words and "=" not in words:
            return "type"
        return "function" if "(" in words and "=" not in words[:words.index("(")] and "operator" not in words else "value"

    def is_initialiser(self, flat):
        words = self.words(flat)
        if not words or self.kind(flat) == "type":
            return False
        if "=" in words and "operator" not in words:
            return True
        if "(" not in words:  # `Type name{...}`
            return True
        rest = words[words.index("(") + 1:]
        return ":" in rest and rest[-1] not in ("(", "{", ")") and re.match(r"\w|>", rest[-1]) is not None  # of a constructor

    def take(self, flat, space, hidden, has_body, line, is_template):
        words = self.words(flat)
        if not words or words[0] in ("friend", "static_assert", "typedef") or "operator" in words:
            return
        if words[0] == "using":
            if words[1] == "namespace":
                self.add("directive", space, hidden, "".join(words[2:]), line, True)
            elif len(words) > 2 and words[2] == "=":
                self.add("alias", space, hidden, f"{words[1]} = {' '.join(words[3:])}", line, True)
            return
        if self.kind(flat) == "type":
            rest = [w for w in words[1:] if w not in ("class", "struct")]
            while rest and (rest[0] == "[" or rest[0] == "alignas" or rest[0] == "("):
                rest = rest[1:]
            # A specialisation is not a name of its own.
            if has_body and rest and rest[0] != "{" and re.match(r"[A-Za-z_]", rest[0]) and not (len(rest) > 1 and rest[1] == "<") and "::" not in rest[:2]:
                self.add("type", space, hidden, rest[0], line, True)
            return
        hidden = hidden or "static" in words
        if self.kind(flat) == "function":
            at = words.index("(")
            name = words[at - 1] if at > 0 else ""
            if at < 2 or not re.match(r"[A-Za-z_]\w*$", name) or words[at - 2] in ("::", "~") or name.isupper() or name.startswith("NL_"):
                return  # a macro, or a member defined outside of its class
            self.add("function", space, hidden, f"{name}({self.parameters(*flat[at][1:])}){'<>' if is_template else ''}", line, has_body)
            return
        cut = next((k for k, w in enumerate(words) if w in ("=", "{", "[")), len(words))
        name = words[cut - 1] if cut > 1 else ""
        if re.match(r"[A-Za-z_]\w*$", name) and words[cut - 2] != "::" and not name.startswith("NL_"):
            self.add("value", space, hidden, name, line, "extern" not in words)

    def parameters(self, begin, end):
        """Types of the parameters between two brackets, without names and defaults."""
        out, one, depth, skip = [], [], 0, False
        for token, _ in self.tokens[begin + 1:end - 1] + [(",", 0)]:
            depth += (token in "(<[{") - (token in ")>]}")
            if token == "," and depth == 0:
                # The last word is the name when a type is before it.
                if len(one) > 1 and re.match(r"[A-Za-z_]", one[-1]) and one[-2] != "::" and not re.match(r"(const|unsigned|signed|struct)$", one[-2]):
                    one.pop()
                if one:
                    out.append(" ".join(one))
                one, skip = [], False
                continue
            if token == "=" and depth == 0:
                skip = True
            if not skip:
                one.append(token)
        return ", ".join(out)

    def add(self, kind, space, hidden, key, line, is_definition):
        self.names.append(Name(kind, space, hidden, key, line, is_definition))


def names(text):
    """Every declaration at namespace scope of a file, given without comments and string contents."""
    parser = Parser(text)
    parser.scope(0, "", False)
    return parser.names


def functions(text):
    """(first line, lines of the body, statements in it) of every function; a lambda belongs to its function."""
    open_braces, found, inside, last = [], [], 0, 0
    for match in re.finditer(r"[{};]", text):
        at = match.start()
        if match.group(0) == "{":
            head = text[last:at].strip()
            is_scope = re.search(r"\b(namespace|struct|class|enum|union)\b[^()]*$", head)
            is_function = not inside and not is_scope and "(" in head and not re.match(r"(if|for|while|switch|return|else|do)\b", head) and not head.endswith("=")
            inside += is_function
            open_braces.append((is_function, at))
        elif match.group(0) == "}" and open_braces:
            is_function, begin = open_braces.pop()
            if is_function:
                inside -= 1
                found.append((text.count("\n", 0, begin) + 1, text.count("\n", begin, at), text.count(";", begin, at)))
        last = match.end()
    return found
