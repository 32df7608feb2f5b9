//! Finds the model for a run: what was asked for, or what is there.

use super::choice::usual;
use super::list::{Listed, Listing, list, window};
use super::places::Places;
use super::{Choice, ChooseError, Provider, named, web};
use outlast_journal::limits;
use std::time::Duration;

/// Returns the model for a run.
///
/// It is `asked`, else `OUTLAST_MODEL`, else `configured`, else the first of: the vendors
/// whose key is set (Anthropic, OpenAI or a server with its chat form, Gemini), an Ollama or
/// a llama.cpp server of this machine.
///
/// A model that its provider's list lacks is refused. Without a list within
/// `MODEL_LIST_MS` it is believed, and the first request tells.
///
/// # Errors
/// Fails when there is no model, with all ways to one.
pub async fn choose(
    asked: Option<&str>,
    configured: Option<&str>,
    environment: &dyn Fn(&str) -> Option<String>,
) -> Result<Choice, ChooseError> {
    let places = Places::read(environment)?;
    let wanted = [
        (given(asked), "`--model` names it"),
        (places.model.as_deref(), "`OUTLAST_MODEL` names it"),
        (given(configured), "the configuration names it"),
    ];
    let mut wanted = wanted.into_iter();
    match wanted.find_map(|(word, why)| Some((word?, why))) {
        Some((word, why)) => named_model(word, why, &places).await,
        None => found_model(&places).await,
    }
}

fn given(word: Option<&str>) -> Option<&str> {
    word.map(str::trim).filter(|word| !word.is_empty())
}

/// Returns the model of a name.
async fn named_model(word: &str, why: &str, places: &Places) -> Result<Choice, ChooseError> {
    let (provider, name) = named::split(word);
    let own = places.compatible.is_some();
    let (provider, name) = match provider {
        Some(Provider::Compatible) if !own => {
            return Err(ChooseError::NoAddress {
                asked: word.to_owned(),
            });
        }
        Some(Provider::OpenAi) if own => (Provider::Compatible, name),
        // A gateway serves models of all vendors under their own names.
        Some(Provider::Anthropic | Provider::Gemini)
            if own && provider.is_some_and(|provider| places.key(provider).is_none()) =>
        {
            (Provider::Compatible, word)
        }
        Some(provider) => (provider, name),
        None if own => (Provider::Compatible, word),
        None => return local_model(word, why, places).await,
    };
    let choice = begin(provider, name, why, places)?;
    check(choice, places).await
}

/// Returns the local model of a name that says nothing of a provider.
async fn local_model(word: &str, why: &str, places: &Places) -> Result<Choice, ChooseError> {
    for provider in [Provider::Ollama, Provider::LlamaCpp] {
        let mut choice = begin(provider, word, why, places)?;
        let Some(listed) = look(&choice, places).await? else {
            continue;
        };
        let found = listed
            .iter()
            .find(|listed| named::is_same(word, &listed.name));
        if let Some(found) = found {
            choice.context_tokens = choice.context_tokens.or(found.context_tokens);
            return with_window(choice).await;
        }
    }
    Err(ChooseError::UnknownName {
        asked: word.to_owned(),
    })
}

/// Returns the first model that is there without a name.
async fn found_model(places: &Places) -> Result<Choice, ChooseError> {
    let vendors = [
        Provider::Anthropic,
        Provider::OpenAi,
        Provider::Compatible,
        Provider::Gemini,
    ];
    for provider in vendors {
        let is_own = places.compatible.is_some();
        let is_there = match provider {
            Provider::Compatible => is_own,
            Provider::OpenAi => !is_own && places.key(provider).is_some(),
            Provider::Anthropic | Provider::Gemini | Provider::Ollama | Provider::LlamaCpp => {
                places.key(provider).is_some()
            }
        };
        if is_there {
            let why = if provider == Provider::Compatible {
                "`OPENAI_BASE_URL` is set".to_owned()
            } else {
                format!("`{}` is set", provider.key_variable())
            };
            return check(begin(provider, "", &why, places)?, places).await;
        }
    }
    for provider in [Provider::Ollama, Provider::LlamaCpp] {
        let mut choice = begin(provider, "", "", places)?;
        let listed = look(&choice, places).await?.unwrap_or_default();
        if let Some(first) = listed.first() {
            choice.why = format!("a server of {provider} answers at `{}`", choice.place());
            choice.name.clone_from(&first.name);
            choice.context_tokens = choice.context_tokens.or(first.context_tokens);
            return with_window(choice).await;
        }
    }
    Err(ChooseError::NoModel)
}

fn begin(
    provider: Provider,
    name: &str,
    why: &str,
    places: &Places,
) -> Result<Choice, ChooseError> {
    let of_ollama = (provider == Provider::Ollama).then_some(places.ollama_context_tokens);
    Ok(Choice {
        provider,
        name: name.to_owned(),
        base_url: places.of(provider)?,
        context_tokens: of_ollama.flatten(),
        why: why.to_owned(),
    })
}

/// Looks for a local server, `None` where there is none of this kind.
async fn look(choice: &Choice, places: &Places) -> Result<Option<Vec<Listed>>, ChooseError> {
    let place = choice.place();
    let client = client(choice)?;
    let key = places.key(choice.provider);
    let bound = Duration::from_millis(limits::MODEL_LOOK_MS);
    let listing = list(&client, choice.provider, &place, key, bound).await;
    Ok(match listing {
        // Many programs listen on the port of a llama.cpp server.
        Listing::Whole(listed) if choice.provider == Provider::LlamaCpp => {
            let is_it = |listed: &Listed| listed.owner.as_deref() == Some("llamacpp");
            listed.iter().all(is_it).then_some(listed)
        }
        Listing::Whole(listed) => Some(listed),
        Listing::Unknown | Listing::Unreachable(_) => None,
    })
}

/// Checks a choice against its provider's list, or takes its name from there.
async fn check(mut choice: Choice, places: &Places) -> Result<Choice, ChooseError> {
    let key = places.key(choice.provider);
    if key.is_none() && choice.provider.is_vendor() && choice.base_url.is_none() {
        return Err(ChooseError::NoKey {
            provider: choice.provider,
        });
    }
    let place = choice.place();
    let client = client(&choice)?;
    let bound = Duration::from_millis(limits::MODEL_LIST_MS);
    let listed = match list(&client, choice.provider, &place, key, bound).await {
        Listing::Whole(listed) => Some(listed),
        Listing::Unreachable(source) if web::is_local(&place) => {
            return Err(ChooseError::NoServer { place, source });
        }
        Listing::Unreachable(_) | Listing::Unknown => None,
    };
    if choice.name.is_empty() {
        choice.name = take(choice.provider, listed.as_deref(), &place)?;
    }
    if let Some(listed) = listed {
        let found = listed
            .iter()
            .find(|listed| named::is_same(&choice.name, &listed.name));
        let Some(found) = found else {
            let names: Vec<String> = listed.into_iter().map(|listed| listed.name).collect();
            return Err(ChooseError::NotListed {
                nearest: named::nearest(&choice.name, &names),
                count: names.len(),
                name: choice.name,
                place,
            });
        };
        choice.context_tokens = choice.context_tokens.or(found.context_tokens);
    }
    with_window(choice).await
}

/// Returns the name of the model to take where none was named.
fn take(provider: Provider, listed: Option<&[Listed]>, place: &str) -> Result<String, ChooseError> {
    let names = listed.map(|listed| {
        let names = listed.iter().map(|listed| listed.name.clone());
        names.collect::<Vec<_>>()
    });
    let taken = if provider.is_vendor() {
        usual(provider, names.as_deref())
    } else {
        names.as_deref().and_then(<[String]>::first).cloned()
    };
    taken.ok_or_else(|| ChooseError::NoName {
        place: place.to_owned(),
    })
}

/// Asks the server of a local model for the size of its window, where it can tell.
async fn with_window(mut choice: Choice) -> Result<Choice, ChooseError> {
    if choice.provider == Provider::LlamaCpp && choice.context_tokens.is_none() {
        let client = client(&choice)?;
        let bound = Duration::from_millis(limits::MODEL_LOOK_MS);
        choice.context_tokens = window(&client, &choice.place(), bound).await;
    }
    Ok(choice)
}

fn client(choice: &Choice) -> Result<reqwest::Client, ChooseError> {
    web::client(choice.base_url.as_deref()).map_err(|source| ChooseError::Client { source })
}
