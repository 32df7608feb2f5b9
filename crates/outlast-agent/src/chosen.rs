//! A chosen model as it stands in the spec of a run, and back.

use crate::models::{Choice, Provider};
use outlast_journal::agent::ModelChoice;

impl Choice {
    /// Returns the form in which a spec keeps the choice.
    pub fn to_spec(&self) -> ModelChoice {
        ModelChoice {
            provider: self.provider.word().to_owned(),
            name: self.name.clone(),
            base_url: self.base_url.clone(),
            context_tokens: self.context_tokens,
            why: self.why.clone(),
        }
    }

    /// Returns the choice that a spec keeps; `None` for a provider that is not known here.
    pub fn from_spec(model: &ModelChoice) -> Option<Self> {
        let of_word = |provider: &Provider| provider.word() == model.provider;
        Some(Self {
            provider: Provider::ALL.into_iter().find(of_word)?,
            name: model.name.clone(),
            base_url: model.base_url.clone(),
            context_tokens: model.context_tokens,
            why: model.why.clone(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_choice_comes_back_from_a_spec_as_it_was() {
        for provider in Provider::ALL {
            let choice = Choice {
                provider,
                name: "m".to_owned(),
                base_url: Some("http://127.0.0.1:1/v1/".to_owned()),
                context_tokens: Some(8_192),
                why: "asked for".to_owned(),
            };
            assert_eq!(Choice::from_spec(&choice.to_spec()), Some(choice));
        }
    }

    #[test]
    fn a_provider_of_a_later_version_is_not_guessed() {
        let model = ModelChoice {
            provider: "later".to_owned(),
            ..ModelChoice::default()
        };
        assert_eq!(Choice::from_spec(&model), None);
    }
}
